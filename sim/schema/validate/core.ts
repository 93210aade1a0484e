import { isIP } from 'node:net';
import { deepEqual } from '#base';
import type { Json, JsonObject } from '#base';
import { goJsonError } from '../../go-text.ts';
import { formatQuantity, parseQuantity } from '../quantity.ts';
import { labelNameProblems, portNameProblems, portNumber, subdomainProblems, validateLabels } from './names.ts';
import { exceeds, plain, validatePodSpec } from './pod.ts';
import { each, get, list, num, obj, pairs, str } from './read.ts';
import type { Report } from './report.ts';
import { validateSource } from './volumes.ts';
import { immutable } from './workloads.ts';

/** Rules of core/v1 kinds (pkg/apis/core/validation). */

export function pod(report: Report, object: JsonObject, old: JsonObject | undefined): void {
  const spec = obj(object, 'spec') ?? {};
  validatePodSpec(report, spec, 'spec');
  const before = obj(old, 'spec');
  if (before !== undefined) podUpdate(report, spec, before);
}

/** A running pod is as it was made, but for these (ValidatePodUpdate). */
function podUpdate(report: Report, spec: JsonObject, before: JsonObject): void {
  for (const key of ['containers', 'initContainers'])
    if (list(spec, key).length !== list(before, key).length) {
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
    list(spec, key).map((container) => ({ ...(container as JsonObject), image: '' }));
  const grown = list(before, 'tolerations').every((one) =>
    list(spec, 'tolerations').some((two) => deepEqual(one, two)),
  );
  return {
    ...spec,
    containers: withoutImages('containers'),
    initContainers: withoutImages('initContainers'),
    activeDeadlineSeconds: null,
    tolerations: grown ? [] : list(spec, 'tolerations'),
    schedulingGates: null,
    ephemeralContainers: null,
    // The scheduler's binding comes through here: from no node to one.
    nodeName: str(before, 'nodeName') === '' ? '' : str(spec, 'nodeName'),
  };
}

export function service(report: Report, object: JsonObject, old: JsonObject | undefined): void {
  const spec = obj(object, 'spec') ?? {};
  const type = str(spec, 'type');
  const headless = str(spec, 'clusterIP') === 'None';
  if (list(spec, 'ports').length === 0 && !headless && type !== 'ExternalName') report.required('spec.ports');
  if (headless && (type === 'NodePort' || type === 'LoadBalancer'))
    report.invalid('spec.clusterIPs[0]', 'None', `may not be set to 'None' for ${type} services`);
  if (type === 'ExternalName') externalName(report, str(spec, 'externalName'));
  validateLabels(report, obj(spec, 'selector'), 'spec.selector');
  servicePorts(report, spec);
  addresses(report, spec);
  const before = obj(old, 'spec');
  const address = str(spec, 'clusterIP');
  const oldAddress = str(before, 'clusterIP');
  if (type === 'ExternalName' || str(before, 'type') === 'ExternalName') return;
  if (oldAddress !== '' && address !== '' && address !== oldAddress)
    report.invalid('spec.clusterIPs[0]', [address], 'may not change once set');
}

function addresses(report: Report, spec: JsonObject): void {
  const address = str(spec, 'clusterIP');
  if (address === '' || address === 'None' || isIP(address) !== 0) return;
  report.invalid('spec.clusterIPs[0]', address, 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)');
}

function externalName(report: Report, name: string): void {
  if (name === '') report.required('spec.externalName');
  else
    for (const problem of subdomainProblems(name.replace(/[.]$/, '')))
      report.invalid('spec.externalName', name, problem);
}

function servicePorts(report: Report, spec: JsonObject): void {
  const several = list(spec, 'ports').length > 1;
  const names = new Set<string>();
  const seen = new Set<string>();
  each(spec, 'ports', 'spec', (port, here) => {
    const name = str(port, 'name');
    if (name === '' && several) report.required(`${here}.name`);
    if (name !== '') for (const problem of labelNameProblems(name)) report.invalid(`${here}.name`, name, problem);
    nodePort(report, num(port, 'nodePort') ?? 0, here);
    if (name !== '' && names.has(name)) report.duplicate(`${here}.name`, name);
    names.add(name);
    portNumber(report, num(port, 'port') ?? 0, `${here}.port`);
    const target = get(port, 'targetPort');
    if (typeof target === 'number') portNumber(report, target, `${here}.targetPort`);
    else if (typeof target === 'string')
      for (const problem of portNameProblems(target)) report.invalid(`${here}.targetPort`, target, problem);
    const key = `${str(port, 'protocol')}/${num(port, 'port') ?? 0}`;
    if (seen.has(key)) report.duplicate(here, { protocol: str(port, 'protocol'), port: num(port, 'port') ?? 0 });
    seen.add(key);
  });
}

function nodePort(report: Report, port: number, here: string): void {
  if (port === 0 || (port >= 30_000 && port <= 32_767)) return;
  const problem = 'provided port is not in the valid range. The range of valid ports is 30000-32767';
  report.invalid(`${here}.nodePort`, port, problem);
}

const keyText =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', " +
  "regex used for validation is '[-._a-zA-Z0-9]+')";
const mostBytes = 1024 * 1024;

function dataKey(report: Report, key: string, path: string): void {
  if (key.length > 253) report.invalid(path, key, 'must be no more than 253 characters');
  if (!/^[-._a-zA-Z0-9]+$/.test(key)) report.invalid(path, key, keyText);
  else if (key === '.' || key === '..') report.invalid(path, key, `may not be '${key}'`);
  else if (key.startsWith('..')) report.invalid(path, key, "may not start with '..'");
}

export function configMap(report: Report, object: JsonObject, old: JsonObject | undefined): void {
  let bytes = 0;
  for (const [key, value] of pairs(object, 'data')) {
    dataKey(report, key, `data[${key}]`);
    if (get(obj(object, 'binaryData'), key) !== undefined)
      report.invalid(`data[${key}]`, key, 'duplicate of key present in binaryData');
    bytes += typeof value === 'string' ? Buffer.byteLength(value) : 0;
  }
  for (const [key, value] of pairs(object, 'binaryData')) {
    dataKey(report, key, `binaryData[${key}]`);
    bytes += typeof value === 'string' ? Buffer.byteLength(value, 'base64') : 0;
  }
  if (bytes > mostBytes) report.tooLong('', mostBytes);
  frozen(report, object, { old, keys: ['data', 'binaryData'] });
}

/** Once `immutable` is set, neither it nor the data may change. */
function frozen(
  report: Report,
  object: JsonObject,
  { old, keys }: { readonly old: JsonObject | undefined; readonly keys: readonly string[] },
): void {
  if (old?.['immutable'] !== true) return;
  const text = 'field is immutable when `immutable` is set';
  if (object['immutable'] !== true) report.forbidden('immutable', text);
  for (const key of keys) if (!deepEqual(get(object, key), get(old, key))) report.forbidden(key, text);
}

/** Keys that a secret of a type must have; of `basic-auth` any one is enough. */
const secretKeys: Readonly<Record<string, readonly string[]>> = {
  'kubernetes.io/tls': ['tls.crt', 'tls.key'],
  'kubernetes.io/ssh-auth': ['ssh-privatekey'],
  'kubernetes.io/dockercfg': ['.dockercfg'],
  'kubernetes.io/dockerconfigjson': ['.dockerconfigjson'],
};

export function secret(report: Report, object: JsonObject, old: JsonObject | undefined): void {
  let bytes = 0;
  for (const [key, value] of pairs(object, 'data')) {
    dataKey(report, key, `data[${key}]`);
    bytes += typeof value === 'string' ? Buffer.byteLength(value, 'base64') : 0;
  }
  if (bytes > mostBytes) report.tooLong('data', mostBytes);
  const type = str(object, 'type');
  const data = obj(object, 'data') ?? {};
  for (const key of secretKeys[type] ?? [])
    if (get(data, key) === undefined) report.required(`data[${key}]`);
    else if (key.startsWith('.docker')) {
      const problem = jsonProblem(str(data, key));
      if (problem !== undefined) report.invalid(`data[${key}]`, '<secret contents redacted>', problem);
    }
  if (
    type === 'kubernetes.io/basic-auth' &&
    get(data, 'username') === undefined &&
    get(data, 'password') === undefined
  ) {
    report.required('data[username]');
    report.required('data[password]');
  }
  const account = 'kubernetes.io/service-account.name';
  if (
    type === 'kubernetes.io/service-account-token' &&
    str(obj(obj(object, 'metadata'), 'annotations'), account) === ''
  )
    report.required(`metadata.annotations[${account}]`);
  immutable(report, { object, old, keys: ['type'], path: '' });
  frozen(report, object, { old, keys: ['data'] });
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

export function persistentVolumeClaim(report: Report, object: JsonObject, old: JsonObject | undefined): void {
  const spec = obj(object, 'spec') ?? {};
  claimSpec(report, spec);
  const before = obj(old, 'spec');
  if (before === undefined) return;
  // What may change: the volume, once; the size, upwards; the attributes class.
  const comparable = (value: JsonObject): JsonObject => ({
    ...value,
    volumeName: str(before, 'volumeName') === '' ? '' : str(value, 'volumeName'),
    storageClassName: get(before, 'storageClassName') === undefined ? null : (get(value, 'storageClassName') ?? null),
    volumeAttributesClassName: null,
    resources: { ...obj(value, 'resources'), requests: null },
  });
  if (!deepEqual(comparable(spec), comparable(before)))
    report.forbidden(
      'spec',
      'spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims',
    );
  const [size, oldSize] = [storage(spec), storage(before)];
  if (size !== undefined && oldSize !== undefined && exceeds(oldSize, size))
    report.forbidden('spec.resources.requests.storage', 'field can not be less than status.capacity');
}

function storage(spec: JsonObject): Json | undefined {
  return get(obj(obj(spec, 'resources'), 'requests'), 'storage');
}

function claimSpec(report: Report, spec: JsonObject): void {
  if (list(spec, 'accessModes').length === 0) report.required('spec.accessModes', 'at least 1 access mode is required');
  const size = storage(spec);
  if (size === undefined) report.required('spec.resources[storage]');
  else positive(report, size, 'spec.resources[storage]');
  const name = get(spec, 'storageClassName');
  if (typeof name === 'string' && name !== '')
    for (const problem of subdomainProblems(name)) report.invalid('spec.storageClassName', name, problem);
}

function positive(report: Report, amount: Json, path: string): void {
  const parsed = parseQuantity(plain(amount));
  if (typeof parsed === 'object' && parsed.nanos <= 0n)
    report.invalid(path, formatQuantity(parsed), 'must be greater than zero');
}

/** Members of a PersistentVolume's spec that are objects and yet no volume source. */
const notSources = new Set(['capacity', 'claimRef', 'nodeAffinity']);

export function persistentVolume(report: Report, object: JsonObject, old: JsonObject | undefined): void {
  const spec = obj(object, 'spec') ?? {};
  if (list(spec, 'accessModes').length === 0) report.required('spec.accessModes');
  if (pairs(spec, 'capacity').length === 0) report.required('spec.capacity');
  for (const [name, amount] of pairs(spec, 'capacity')) positive(report, amount, `spec.capacity[${name}]`);
  const sources = (value: JsonObject): JsonObject =>
    Object.fromEntries(
      Object.entries(value).filter(([key, member]) => !notSources.has(key) && obj({ member }, 'member') !== undefined),
    );
  validateSource(report, sources(spec), 'spec');
  const before = obj(old, 'spec');
  if (before !== undefined && !deepEqual(sources(spec), sources(before)))
    report.forbidden('spec.persistentvolumesource', 'spec.persistentvolumesource is immutable after creation');
}
