import type { JsonObject } from '#base';
import { deepEqual } from '#base';
import { nonNegative, portNumber, subdomainProblems, validateSelector } from './names.ts';
import { each, get, list, num, obj, str } from './read.ts';
import type { Report } from './report.ts';
import { immutable } from './workloads.ts';

/** Rules of networking, rbac, storage, scheduling, coordination and discovery kinds. */

export function ingress(report: Report, object: JsonObject): void {
  const spec = obj(object, 'spec') ?? {};
  if (list(spec, 'rules').length === 0 && obj(spec, 'defaultBackend') === undefined)
    report.invalid('spec', null, 'either `defaultBackend` or `rules` must be specified');
  backend(report, obj(spec, 'defaultBackend'), 'spec.defaultBackend');
  each(spec, 'rules', 'spec', (rule, here) => {
    const host = str(rule, 'host');
    const wildcard = host.startsWith('*.');
    if (host !== '')
      for (const problem of subdomainProblems(wildcard ? host.slice(2) : host))
        report.invalid(`${here}.host`, host, problem);
    const http = obj(rule, 'http');
    if (http !== undefined && list(http, 'paths').length === 0) report.required(`${here}.http.paths`);
    each(http, 'paths', `${here}.http`, (path, where) => ingressPath(report, path, where));
  });
}

function ingressPath(report: Report, path: JsonObject, where: string): void {
  const type = str(path, 'pathType');
  const text = str(path, 'path');
  if (type === '') report.required(`${where}.pathType`, 'pathType must be specified');
  else if (type === 'Exact' || type === 'Prefix' || text !== '') {
    if (!text.startsWith('/')) report.invalid(`${where}.path`, text, 'must be an absolute path');
  }
  if (type === 'Exact' || type === 'Prefix')
    for (const bad of ['//', '/./', '/../', '%2f', '%2F'])
      if (text.includes(bad)) report.invalid(`${where}.path`, text, `must not contain '${bad}'`);
  backend(report, obj(path, 'backend') ?? {}, `${where}.backend`);
}

function backend(report: Report, value: JsonObject | undefined, path: string): void {
  if (value === undefined) return;
  const service = obj(value, 'service');
  const resource = obj(value, 'resource');
  if (service !== undefined && resource !== undefined)
    report.invalid(path, '', 'cannot set both resource and service backends');
  if (service === undefined) {
    if (resource === undefined) report.required(path, 'resource or service backend is required');
    return;
  }
  if (str(service, 'name') === '') report.required(`${path}.service.name`);
  const port = obj(service, 'port');
  const [name, number] = [str(port, 'name'), num(port, 'number') ?? 0];
  if (name === '' && number === 0) report.required(path, 'port name or number is required');
  else if (name !== '' && number !== 0) report.invalid(path, '', 'cannot set both port name & port number');
  else if (number !== 0) portNumber(report, number, `${path}.service.port.number`);
}

export function networkPolicy(report: Report, object: JsonObject): void {
  const spec = obj(object, 'spec') ?? {};
  validateSelector(report, obj(spec, 'podSelector'), 'spec.podSelector');
  for (const [direction, side] of [
    ['ingress', 'from'],
    ['egress', 'to'],
  ] as const)
    each(spec, direction, 'spec', (rule, here) => {
      each(rule, 'ports', here, (port, where) => policyPort(report, port, where));
      each(rule, side, here, (peer, where) => policyPeer(report, peer, where));
    });
}

function policyPort(report: Report, port: JsonObject, path: string): void {
  const number = get(port, 'port');
  if (typeof number === 'number') portNumber(report, number, `${path}.port`);
  const end = num(port, 'endPort');
  if (end === undefined) return;
  if (number === undefined) report.required(`${path}.port`, 'must be specified when `endPort` is');
  else if (typeof number === 'string')
    report.invalid(`${path}.endPort`, end, 'may not be specified when `port` is non-numeric');
  else if (typeof number === 'number' && end < number)
    report.invalid(`${path}.endPort`, end, 'must be greater than or equal to `port`');
}

function policyPeer(report: Report, peer: JsonObject, path: string): void {
  const given = ['podSelector', 'namespaceSelector', 'ipBlock'].filter((key) => obj(peer, key) !== undefined);
  if (given.length === 0) report.required(path, 'must specify a peer');
  if (given.includes('ipBlock') && given.length > 1)
    report.forbidden(path, 'may not specify both ipBlock and another peer');
  for (const key of ['podSelector', 'namespaceSelector']) validateSelector(report, obj(peer, key), `${path}.${key}`);
  const block = obj(peer, 'ipBlock');
  if (block === undefined) return;
  const cidr = str(block, 'cidr');
  if (cidr === '') report.required(`${path}.ipBlock.cidr`);
  else if (!/^[0-9A-Fa-f.:]+\/[0-9]{1,3}$/.test(cidr))
    report.invalid(`${path}.ipBlock.cidr`, cidr, 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)');
}

export function role(report: Report, object: JsonObject): void {
  const namespaced = str(object, 'kind') === 'Role';
  list(object, 'rules').forEach((rule, i) => {
    const path = `rules[${i}]`;
    if (list(rule, 'verbs').length === 0) report.required(`${path}.verbs`, 'verbs must contain at least one value');
    if (list(rule, 'nonResourceURLs').length > 0) {
      if (namespaced)
        report.invalid(
          `${path}.nonResourceURLs`,
          list(rule, 'nonResourceURLs'),
          'namespaced rules cannot apply to non-resource URLs',
        );
      if (['apiGroups', 'resources', 'resourceNames'].some((key) => list(rule, key).length > 0))
        report.invalid(
          `${path}.nonResourceURLs`,
          list(rule, 'nonResourceURLs'),
          'rules cannot apply to both regular resources and non-resource URLs',
        );
      return;
    }
    if (list(rule, 'apiGroups').length === 0)
      report.required(`${path}.apiGroups`, 'resource rules must supply at least one api group');
    if (list(rule, 'resources').length === 0)
      report.required(`${path}.resources`, 'resource rules must supply at least one resource');
  });
}

const rbacGroup = 'rbac.authorization.k8s.io';

export function binding(report: Report, object: JsonObject, old: JsonObject | undefined): void {
  const reference = obj(object, 'roleRef') ?? {};
  if (str(reference, 'apiGroup') !== rbacGroup)
    report.notSupported('roleRef.apiGroup', str(reference, 'apiGroup'), [rbacGroup]);
  const kinds = str(object, 'kind') === 'RoleBinding' ? ['Role', 'ClusterRole'] : ['ClusterRole'];
  if (!kinds.includes(str(reference, 'kind'))) report.notSupported('roleRef.kind', str(reference, 'kind'), kinds);
  if (str(reference, 'name') === '') report.required('roleRef.name');
  list(object, 'subjects').forEach((subject, i) => {
    const path = `subjects[${i}]`;
    if (str(subject, 'name') === '') report.required(`${path}.name`);
    const kind = str(subject, 'kind');
    const group = kind === 'ServiceAccount' ? '' : rbacGroup;
    if (!['ServiceAccount', 'User', 'Group'].includes(kind))
      report.notSupported(`${path}.kind`, kind, ['Group', 'ServiceAccount', 'User']);
    else if (str(subject, 'apiGroup') !== group)
      report.notSupported(`${path}.apiGroup`, str(subject, 'apiGroup'), [group]);
    // Inside a namespace an empty one means the same.
    const needed = str(object, 'kind') !== 'RoleBinding';
    if (needed && kind === 'ServiceAccount' && str(subject, 'namespace') === '') report.required(`${path}.namespace`);
  });
  if (old !== undefined && !deepEqual(reference, obj(old, 'roleRef')))
    report.invalidText('roleRef', internalReference(reference), 'cannot change roleRef');
}

/** A reference to a role as the server's own type prints it. */
function internalReference(reference: JsonObject): string {
  return JSON.stringify({
    APIGroup: str(reference, 'apiGroup'),
    Kind: str(reference, 'kind'),
    Name: str(reference, 'name'),
  });
}

export function storageClass(report: Report, object: JsonObject, old: JsonObject | undefined): void {
  if (str(object, 'provisioner') === '') report.required('provisioner');
  if (old === undefined) return;
  if (!deepEqual(get(object, 'parameters'), get(old, 'parameters')))
    report.forbidden('parameters', 'updates to parameters are forbidden.');
  if (str(object, 'provisioner') !== str(old, 'provisioner'))
    report.forbidden('provisioner', 'updates to provisioner are forbidden.');
  if (str(object, 'reclaimPolicy') !== str(old, 'reclaimPolicy'))
    report.forbidden('reclaimPolicy', 'updates to reclaimPolicy are forbidden.');
  immutable(report, { object, old, keys: ['volumeBindingMode'], path: '' });
}

export function priorityClass(report: Report, object: JsonObject, old: JsonObject | undefined): void {
  const name = str(obj(object, 'metadata'), 'name');
  const value = num(object, 'value') ?? 0;
  if (value > 1_000_000_000 && !name.startsWith('system-'))
    report.forbidden('value', `maximum allowed value of a user defined priority is 1000000000`);
  if (old === undefined) return;
  for (const key of ['value', 'preemptionPolicy'])
    if (!deepEqual(get(object, key) ?? 0, get(old, key) ?? 0))
      report.forbidden(key, 'may not be changed in an update.');
}

export function lease(report: Report, object: JsonObject): void {
  const spec = obj(object, 'spec') ?? {};
  const seconds = num(spec, 'leaseDurationSeconds');
  if (seconds !== undefined && seconds <= 0)
    report.invalid('spec.leaseDurationSeconds', seconds, 'must be greater than 0');
  nonNegative(report, num(spec, 'leaseTransitions'), 'spec.leaseTransitions');
}

export function endpointSlice(report: Report, object: JsonObject, old: JsonObject | undefined): void {
  if (str(object, 'addressType') === '') report.required('addressType');
  list(object, 'endpoints').forEach((endpoint, i) => {
    if (list(endpoint, 'addresses').length === 0)
      report.required(`endpoints[${i}].addresses`, 'must contain at least 1 address');
  });
  immutable(report, { object, old, keys: ['addressType'], path: '' });
}

export function ingressClass(report: Report, object: JsonObject, old: JsonObject | undefined): void {
  immutable(report, {
    object: obj(object, 'spec') ?? {},
    old: old === undefined ? undefined : (obj(old, 'spec') ?? {}),
    keys: ['controller'],
    path: 'spec',
  });
}
