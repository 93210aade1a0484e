import { isIP } from 'node:net';
import { deepEqual } from '#base';
import type { Json, JsonObject } from '#base';
import { goJsonError } from '../../go-text.ts';
import { requirePositive, storageRequest, validateClaimSpec } from './claim.ts';
import { labelNameProblems, portNameProblems, portNumber, subdomainProblems, validateLabels } from './names.ts';
import { quantityExceeds, validatePodSpec } from './pod.ts';
import { forEachObject, anyMember, listMember, numberMember, objectMember, mapEntries, stringMember } from './read.ts';
import type { FieldErrorReport } from './report.ts';
import { validateSource } from './volumes.ts';
import { requireImmutable } from './workloads.ts';

/** Rules of core/v1 kinds (pkg/apis/core/validation). */

export function validatePod(report: FieldErrorReport, object: JsonObject, old: JsonObject | undefined): void {
  const spec = objectMember(object, 'spec') ?? {};
  validatePodSpec(report, spec, 'spec');
  const before = objectMember(old, 'spec');
  if (before !== undefined) podUpdate(report, spec, before);
}

/** A pod is immutable except for these fields (ValidatePodUpdate). */
function podUpdate(report: FieldErrorReport, spec: JsonObject, before: JsonObject): void {
  for (const key of ['containers', 'initContainers'])
    if (listMember(spec, key).length !== listMember(before, key).length) {
      report.forbidden(`spec.${key}`, 'pod updates may not add or remove containers');
      return;
    }
  if (!deepEqual(fixedPart(spec, before), fixedPart(before, before)))
    report.forbidden(
      'spec',
      'pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,' +
        '`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),' +
        '`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)',
    );
}

function fixedPart(spec: JsonObject, before: JsonObject): JsonObject {
  const withoutImages = (key: string): Json[] =>
    listMember(spec, key).map((container) => ({ ...(container as JsonObject), image: '' }));
  const grown = listMember(before, 'tolerations').every((one) =>
    listMember(spec, 'tolerations').some((two) => deepEqual(one, two)),
  );
  return {
    ...spec,
    containers: withoutImages('containers'),
    initContainers: withoutImages('initContainers'),
    activeDeadlineSeconds: null,
    tolerations: grown ? [] : listMember(spec, 'tolerations'),
    schedulingGates: null,
    ephemeralContainers: null,
    // The scheduler's binding changes it from no node to one.
    nodeName: stringMember(before, 'nodeName') === '' ? '' : stringMember(spec, 'nodeName'),
  };
}

export function validateService(report: FieldErrorReport, object: JsonObject, old: JsonObject | undefined): void {
  const spec = objectMember(object, 'spec') ?? {};
  const type = stringMember(spec, 'type');
  const headless = stringMember(spec, 'clusterIP') === 'None';
  if (listMember(spec, 'ports').length === 0 && !headless && type !== 'ExternalName') report.required('spec.ports');
  if (headless && (type === 'NodePort' || type === 'LoadBalancer'))
    report.invalid('spec.clusterIPs[0]', 'None', `may not be set to 'None' for ${type} services`);
  if (type === 'ExternalName') externalName(report, stringMember(spec, 'externalName'));
  validateLabels(report, objectMember(spec, 'selector'), 'spec.selector');
  servicePorts(report, spec);
  validateAddresses(report, spec);
  const before = objectMember(old, 'spec');
  const address = stringMember(spec, 'clusterIP');
  const oldAddress = stringMember(before, 'clusterIP');
  if (type === 'ExternalName' || stringMember(before, 'type') === 'ExternalName') return;
  if (oldAddress !== '' && address !== '' && address !== oldAddress)
    report.invalid('spec.clusterIPs[0]', [address], 'may not change once set');
}

function validateAddresses(report: FieldErrorReport, spec: JsonObject): void {
  const address = stringMember(spec, 'clusterIP');
  if (address === '' || address === 'None' || isIP(address) !== 0) return;
  report.invalid('spec.clusterIPs[0]', address, 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)');
}

function externalName(report: FieldErrorReport, name: string): void {
  if (name === '') report.required('spec.externalName');
  else
    for (const problem of subdomainProblems(name.replace(/[.]$/, '')))
      report.invalid('spec.externalName', name, problem);
}

function servicePorts(report: FieldErrorReport, spec: JsonObject): void {
  const several = listMember(spec, 'ports').length > 1;
  const names = new Set<string>();
  const seen = new Set<string>();
  forEachObject(spec, 'ports', 'spec', (port, here) => {
    const name = stringMember(port, 'name');
    if (name === '' && several) report.required(`${here}.name`);
    if (name !== '') for (const problem of labelNameProblems(name)) report.invalid(`${here}.name`, name, problem);
    nodePort(report, numberMember(port, 'nodePort') ?? 0, here);
    if (name !== '' && names.has(name)) report.duplicate(`${here}.name`, name);
    names.add(name);
    portNumber(report, numberMember(port, 'port') ?? 0, `${here}.port`);
    const target = anyMember(port, 'targetPort');
    if (typeof target === 'number') portNumber(report, target, `${here}.targetPort`);
    else if (typeof target === 'string')
      for (const problem of portNameProblems(target)) report.invalid(`${here}.targetPort`, target, problem);
    const key = `${stringMember(port, 'protocol')}/${numberMember(port, 'port') ?? 0}`;
    if (seen.has(key)) report.duplicateText(here, internalPort(port));
    seen.add(key);
  });
}

/** A port in the form of the server's internal type, reduced to what must differ. */
function internalPort(port: JsonObject): string {
  const [Protocol, Port] = [stringMember(port, 'protocol'), numberMember(port, 'port') ?? 0];
  return JSON.stringify({ Name: '', Protocol, AppProtocol: null, Port, TargetPort: 0, NodePort: 0 });
}

function nodePort(report: FieldErrorReport, port: number, here: string): void {
  if (port === 0 || (port >= 30_000 && port <= 32_767)) return;
  const problem = 'provided port is not in the valid range. The range of valid ports is 30000-32767';
  report.invalid(`${here}.nodePort`, port, problem);
}

const keyText =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', " +
  "regex used for validation is '[-._a-zA-Z0-9]+')";
const maxDataBytes = 1024 * 1024;

function dataKey(report: FieldErrorReport, key: string, path: string): void {
  if (key.length > 253) report.invalid(path, key, 'must be no more than 253 characters');
  if (!/^[-._a-zA-Z0-9]+$/.test(key)) report.invalid(path, key, keyText);
  else if (key === '.' || key === '..') report.invalid(path, key, `may not be '${key}'`);
  else if (key.startsWith('..')) report.invalid(path, key, "must not start with '..'");
}

export function validateConfigMap(report: FieldErrorReport, object: JsonObject, old: JsonObject | undefined): void {
  let bytes = 0;
  for (const [key, value] of mapEntries(object, 'data')) {
    dataKey(report, key, `data[${key}]`);
    if (anyMember(objectMember(object, 'binaryData'), key) !== undefined)
      report.invalid(`data[${key}]`, key, 'duplicate of key present in binaryData');
    bytes += typeof value === 'string' ? Buffer.byteLength(value) : 0;
  }
  for (const [key, value] of mapEntries(object, 'binaryData')) {
    dataKey(report, key, `binaryData[${key}]`);
    bytes += typeof value === 'string' ? Buffer.byteLength(value, 'base64') : 0;
  }
  if (bytes > maxDataBytes) report.tooLong('[]', maxDataBytes);
  validateImmutableData(report, object, { old, keys: ['data', 'binaryData'] });
}

/** Once `immutable` is set, neither it nor the data may change. */
function validateImmutableData(
  report: FieldErrorReport,
  object: JsonObject,
  { old, keys }: { readonly old: JsonObject | undefined; readonly keys: readonly string[] },
): void {
  if (old?.['immutable'] !== true) return;
  const text = 'field is immutable when `immutable` is set';
  if (object['immutable'] !== true) report.forbidden('immutable', text);
  for (const key of keys) if (!deepEqual(anyMember(object, key), anyMember(old, key))) report.forbidden(key, text);
}

/** Keys that a secret of a type requires; `basic-auth` requires one of its two. */
const secretKeys: Readonly<Record<string, readonly string[]>> = {
  'kubernetes.io/tls': ['tls.crt', 'tls.key'],
  'kubernetes.io/ssh-auth': ['ssh-privatekey'],
  'kubernetes.io/dockercfg': ['.dockercfg'],
  'kubernetes.io/dockerconfigjson': ['.dockerconfigjson'],
};

export function validateSecret(report: FieldErrorReport, object: JsonObject, old: JsonObject | undefined): void {
  let bytes = 0;
  for (const [key, value] of mapEntries(object, 'data')) {
    dataKey(report, key, `data[${key}]`);
    bytes += typeof value === 'string' ? Buffer.byteLength(value, 'base64') : 0;
  }
  if (bytes > maxDataBytes) report.tooLong('data', maxDataBytes);
  const type = stringMember(object, 'type');
  const data = objectMember(object, 'data') ?? {};
  for (const key of secretKeys[type] ?? [])
    if (anyMember(data, key) === undefined) report.required(`data[${key}]`);
    else if (key.startsWith('.docker')) {
      const problem = jsonProblem(stringMember(data, key));
      if (problem !== undefined) report.invalid(`data[${key}]`, '<secret contents redacted>', problem);
    }
  if (
    type === 'kubernetes.io/basic-auth' &&
    anyMember(data, 'username') === undefined &&
    anyMember(data, 'password') === undefined
  ) {
    report.required('data[username]');
    report.required('data[password]');
  }
  const account = 'kubernetes.io/service-account.name';
  if (
    type === 'kubernetes.io/service-account-token' &&
    stringMember(objectMember(objectMember(object, 'metadata'), 'annotations'), account) === ''
  )
    report.required(`metadata.annotations[${account}]`);
  requireImmutable(report, { object, old, keys: ['type'], path: '' });
  validateImmutableData(report, object, { old, keys: ['data'] });
}

function jsonProblem(base64: string): string | undefined {
  const text = Buffer.from(base64, 'base64').toString('utf8');
  try {
    JSON.parse(text);
    return undefined;
  } catch {
    return goJsonError(text);
  }
}

export function validatePersistentVolumeClaim(
  report: FieldErrorReport,
  object: JsonObject,
  old: JsonObject | undefined,
): void {
  const spec = objectMember(object, 'spec') ?? {};
  validateClaimSpec(report, spec, 'spec');
  const before = objectMember(old, 'spec');
  if (before === undefined) return;
  // Mutable: the volume, once; the size, upwards; the attributes class.
  const comparable = (value: JsonObject): JsonObject => ({
    ...value,
    volumeName: stringMember(before, 'volumeName') === '' ? '' : stringMember(value, 'volumeName'),
    storageClassName:
      anyMember(before, 'storageClassName') === undefined ? null : (anyMember(value, 'storageClassName') ?? null),
    volumeAttributesClassName: null,
    resources: { ...objectMember(value, 'resources'), requests: null },
  });
  if (!deepEqual(comparable(spec), comparable(before)))
    report.forbidden(
      'spec',
      'spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims',
    );
  const [size, oldSize] = [storageRequest(spec), storageRequest(before)];
  if (size !== undefined && oldSize !== undefined && quantityExceeds(oldSize, size))
    report.forbidden('spec.resources.requests.storage', 'field can not be less than status.capacity');
}

/** Object members of a PersistentVolume's spec that are not volume sources. */
const notSources = new Set(['capacity', 'claimRef', 'nodeAffinity']);

export function validatePersistentVolume(
  report: FieldErrorReport,
  object: JsonObject,
  old: JsonObject | undefined,
): void {
  const spec = objectMember(object, 'spec') ?? {};
  if (listMember(spec, 'accessModes').length === 0) report.required('spec.accessModes');
  if (mapEntries(spec, 'capacity').length === 0) {
    report.required('spec.capacity');
    report.notSupported('spec.capacity', null, ['storage']);
  }
  for (const [name, amount] of mapEntries(spec, 'capacity')) requirePositive(report, amount, `spec.capacity[${name}]`);
  const sources = (value: JsonObject): JsonObject =>
    Object.fromEntries(
      Object.entries(value).filter(
        ([key, member]) => !notSources.has(key) && objectMember({ member }, 'member') !== undefined,
      ),
    );
  validateSource(report, sources(spec), 'spec');
  const before = objectMember(old, 'spec');
  if (before !== undefined && !deepEqual(sources(spec), sources(before)))
    report.forbidden('spec.persistentvolumesource', 'spec.persistentvolumesource is immutable after creation');
}

export function validateNode(report: FieldErrorReport, object: JsonObject, old: JsonObject | undefined): void {
  const before = listMember(objectMember(old, 'spec'), 'podCIDRs');
  if (before.length > 0 && !deepEqual(before, listMember(objectMember(object, 'spec'), 'podCIDRs')))
    report.forbidden('spec.podCIDRs', 'node updates may not change podCIDR except from "" to valid');
}
