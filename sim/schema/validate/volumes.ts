import { isObject } from '#base';
import type { JsonObject } from '#base';
import { validateClaimSpec } from './claim.ts';
import { labelNameProblems } from './names.ts';
import { forEachObject, objectMember, stringMember } from './read.ts';
import type { FieldErrorReport } from './report.ts';

/** The required members of each volume source. */
const neededMembers: Readonly<Record<string, readonly string[]>> = {
  secret: ['secretName'],
  configMap: ['name'],
  persistentVolumeClaim: ['claimName'],
  hostPath: ['path'],
  nfs: ['server', 'path'],
  csi: ['driver'],
  ephemeral: ['volumeClaimTemplate'],
  iscsi: ['targetPortal', 'iqn'],
  cephfs: ['monitors'],
  image: ['reference'],
};

/** Validates the volumes of a pod spec; returns their names. */
export function validateVolumes(report: FieldErrorReport, spec: JsonObject, path: string): ReadonlySet<string> {
  const names = new Set<string>();
  forEachObject(spec, 'volumes', path, (volume, here) => {
    const name = stringMember(volume, 'name');
    if (name === '') report.required(`${here}.name`);
    else for (const problem of labelNameProblems(name)) report.invalid(`${here}.name`, name, problem);
    if (name !== '' && names.has(name)) report.duplicate(`${here}.name`, name);
    names.add(name);
    validateSource(report, volume, here);
  });
  return names;
}

/** A volume, or the spec of a PersistentVolume, has exactly one source. */
export function validateSource(report: FieldErrorReport, volume: JsonObject, path: string): void {
  const sources = Object.keys(volume).filter((key) => key !== 'name' && isObject(volume[key]));
  if (sources.length === 0) report.required(path, 'must specify a volume type');
  for (const extra of sources.slice(1)) report.forbidden(`${path}.${extra}`, 'may not specify more than 1 volume type');
  const [source] = sources;
  if (source === undefined) return;
  const value = objectMember(volume, source);
  for (const member of neededMembers[source] ?? [])
    if (value !== undefined && (value[member] === undefined || value[member] === ''))
      report.required(`${path}.${source}.${member}`);
  const template = source === 'ephemeral' ? objectMember(value, 'volumeClaimTemplate') : undefined;
  if (template !== undefined)
    validateClaimSpec(report, objectMember(template, 'spec') ?? {}, `${path}.ephemeral.volumeClaimTemplate.spec`);
}
