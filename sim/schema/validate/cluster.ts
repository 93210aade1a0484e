import type { JsonObject } from '#base';
import { deepEqual } from '#base';
import { nonNegative, portNumber, subdomainProblems, validateSelector } from './names.ts';
import { forEachObject, anyMember, listMember, numberMember, objectMember, stringMember } from './read.ts';
import type { FieldErrorReport } from './report.ts';
import { requireImmutable } from './workloads.ts';

/** Rules of networking, rbac, storage, scheduling, coordination and discovery kinds. */

export function validateIngress(report: FieldErrorReport, object: JsonObject): void {
  const spec = objectMember(object, 'spec') ?? {};
  if (listMember(spec, 'rules').length === 0 && objectMember(spec, 'defaultBackend') === undefined)
    report.invalid('spec', null, 'either `defaultBackend` or `rules` must be specified');
  validateBackend(report, objectMember(spec, 'defaultBackend'), 'spec.defaultBackend');
  forEachObject(spec, 'rules', 'spec', (rule, here) => {
    const host = stringMember(rule, 'host');
    const wildcard = host.startsWith('*.');
    if (host !== '')
      for (const problem of subdomainProblems(wildcard ? host.slice(2) : host))
        report.invalid(`${here}.host`, host, problem);
    const http = objectMember(rule, 'http');
    if (http !== undefined && listMember(http, 'paths').length === 0) report.required(`${here}.http.paths`);
    forEachObject(http, 'paths', `${here}.http`, (path, where) => ingressPath(report, path, where));
  });
}

function ingressPath(report: FieldErrorReport, path: JsonObject, where: string): void {
  const type = stringMember(path, 'pathType');
  const text = stringMember(path, 'path');
  if (type === '') report.required(`${where}.pathType`, 'pathType must be specified');
  else if (type === 'Exact' || type === 'Prefix' || text !== '') {
    if (!text.startsWith('/')) report.invalid(`${where}.path`, text, 'must be an absolute path');
  }
  if (type === 'Exact' || type === 'Prefix')
    for (const bad of ['//', '/./', '/../', '%2f', '%2F'])
      if (text.includes(bad)) report.invalid(`${where}.path`, text, `must not contain '${bad}'`);
  validateBackend(report, objectMember(path, 'backend') ?? {}, `${where}.backend`);
}

function validateBackend(report: FieldErrorReport, value: JsonObject | undefined, path: string): void {
  if (value === undefined) return;
  const service = objectMember(value, 'service');
  const resource = objectMember(value, 'resource');
  if (service !== undefined && resource !== undefined)
    report.invalid(path, '', 'cannot set both resource and service backends');
  if (service === undefined) {
    if (resource === undefined) report.invalid(path, '', 'resource or service backend is required');
    return;
  }
  if (stringMember(service, 'name') === '') report.required(`${path}.service.name`);
  const port = objectMember(service, 'port');
  const [name, number] = [stringMember(port, 'name'), numberMember(port, 'number') ?? 0];
  if (name === '' && number === 0) report.required(path, 'port name or number is required');
  else if (name !== '' && number !== 0) report.invalid(path, '', 'cannot set both port name & port number');
  else if (number !== 0) portNumber(report, number, `${path}.service.port.number`);
}

export function validateNetworkPolicy(report: FieldErrorReport, object: JsonObject): void {
  const spec = objectMember(object, 'spec') ?? {};
  validateSelector(report, objectMember(spec, 'podSelector'), 'spec.podSelector');
  for (const [direction, side] of [
    ['ingress', 'from'],
    ['egress', 'to'],
  ] as const)
    forEachObject(spec, direction, 'spec', (rule, here) => {
      forEachObject(rule, 'ports', here, (port, where) => policyPort(report, port, where));
      forEachObject(rule, side, here, (peer, where) => policyPeer(report, peer, where));
    });
}

function policyPort(report: FieldErrorReport, port: JsonObject, path: string): void {
  const number = anyMember(port, 'port');
  if (typeof number === 'number') portNumber(report, number, `${path}.port`);
  const end = numberMember(port, 'endPort');
  if (end === undefined) return;
  if (number === undefined) report.required(`${path}.port`, 'must be specified when `endPort` is');
  else if (typeof number === 'string')
    report.invalid(`${path}.endPort`, end, 'may not be specified when `port` is non-numeric');
  else if (typeof number === 'number' && end < number)
    report.invalid(`${path}.endPort`, number, 'must be greater than or equal to `port`');
}

function policyPeer(report: FieldErrorReport, peer: JsonObject, path: string): void {
  const given = ['podSelector', 'namespaceSelector', 'ipBlock'].filter((key) => objectMember(peer, key) !== undefined);
  if (given.length === 0) report.required(path, 'must specify a peer');
  if (given.includes('ipBlock') && given.length > 1)
    report.forbidden(path, 'may not specify both ipBlock and another peer');
  for (const key of ['podSelector', 'namespaceSelector'])
    validateSelector(report, objectMember(peer, key), `${path}.${key}`);
  const block = objectMember(peer, 'ipBlock');
  if (block === undefined) return;
  const cidr = stringMember(block, 'cidr');
  if (cidr === '') report.required(`${path}.ipBlock.cidr`);
  else if (!/^[0-9A-Fa-f.:]+\/[0-9]{1,3}$/.test(cidr))
    report.invalid(`${path}.ipBlock.cidr`, cidr, 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)');
}

export function validateRole(report: FieldErrorReport, object: JsonObject): void {
  const namespaced = stringMember(object, 'kind') === 'Role';
  listMember(object, 'rules').forEach((rule, i) => {
    const path = `rules[${i}]`;
    if (listMember(rule, 'verbs').length === 0)
      report.required(`${path}.verbs`, 'verbs must contain at least one value');
    if (listMember(rule, 'nonResourceURLs').length > 0) {
      if (namespaced)
        report.invalid(
          `${path}.nonResourceURLs`,
          listMember(rule, 'nonResourceURLs'),
          'namespaced rules cannot apply to non-resource URLs',
        );
      if (['apiGroups', 'resources', 'resourceNames'].some((key) => listMember(rule, key).length > 0))
        report.invalid(
          `${path}.nonResourceURLs`,
          listMember(rule, 'nonResourceURLs'),
          'rules cannot apply to both regular resources and non-resource URLs',
        );
      return;
    }
    if (listMember(rule, 'apiGroups').length === 0)
      report.required(`${path}.apiGroups`, 'resource rules must supply at least one api group');
    if (listMember(rule, 'resources').length === 0)
      report.required(`${path}.resources`, 'resource rules must supply at least one resource');
  });
}

const rbacGroup = 'rbac.authorization.k8s.io';

export function validateBinding(report: FieldErrorReport, object: JsonObject, old: JsonObject | undefined): void {
  const reference = objectMember(object, 'roleRef') ?? {};
  if (stringMember(reference, 'apiGroup') !== rbacGroup)
    report.notSupported('roleRef.apiGroup', stringMember(reference, 'apiGroup'), [rbacGroup]);
  const kinds = stringMember(object, 'kind') === 'RoleBinding' ? ['Role', 'ClusterRole'] : ['ClusterRole'];
  if (!kinds.includes(stringMember(reference, 'kind')))
    report.notSupported('roleRef.kind', stringMember(reference, 'kind'), kinds);
  if (stringMember(reference, 'name') === '') report.required('roleRef.name');
  listMember(object, 'subjects').forEach((subject, i) => {
    const path = `subjects[${i}]`;
    if (stringMember(subject, 'name') === '') report.required(`${path}.name`);
    const kind = stringMember(subject, 'kind');
    const group = kind === 'ServiceAccount' ? '' : rbacGroup;
    if (!['ServiceAccount', 'User', 'Group'].includes(kind))
      report.notSupported(`${path}.kind`, kind, ['ServiceAccount', 'User', 'Group']);
    else if (stringMember(subject, 'apiGroup') !== group)
      report.notSupported(`${path}.apiGroup`, stringMember(subject, 'apiGroup'), [group]);
    // In a RoleBinding an empty namespace means its own.
    const needed = stringMember(object, 'kind') !== 'RoleBinding';
    if (needed && kind === 'ServiceAccount' && stringMember(subject, 'namespace') === '')
      report.required(`${path}.namespace`);
  });
  if (old !== undefined && !deepEqual(reference, objectMember(old, 'roleRef')))
    report.invalidText('roleRef', internalReference(reference), 'cannot change roleRef');
}

/** A role reference in the form of the server's internal type. */
function internalReference(reference: JsonObject): string {
  return JSON.stringify({
    APIGroup: stringMember(reference, 'apiGroup'),
    Kind: stringMember(reference, 'kind'),
    Name: stringMember(reference, 'name'),
  });
}

export function validateStorageClass(report: FieldErrorReport, object: JsonObject, old: JsonObject | undefined): void {
  if (stringMember(object, 'provisioner') === '') report.required('provisioner');
  const keys = ['provisioner', 'parameters', 'reclaimPolicy', 'volumeBindingMode'];
  requireImmutable(report, { object, old, keys, path: '' });
}

export function validatePriorityClass(report: FieldErrorReport, object: JsonObject, old: JsonObject | undefined): void {
  const name = stringMember(objectMember(object, 'metadata'), 'name');
  const value = numberMember(object, 'value') ?? 0;
  if (value > 1_000_000_000 && !name.startsWith('system-'))
    report.forbidden('value', `maximum allowed value of a user defined priority is 1000000000`);
  if (old === undefined) return;
  for (const key of ['value', 'preemptionPolicy'])
    if (!deepEqual(anyMember(object, key) ?? 0, anyMember(old, key) ?? 0))
      report.forbidden(key, 'may not be changed in an update.');
}

export function validateLease(report: FieldErrorReport, object: JsonObject): void {
  const spec = objectMember(object, 'spec') ?? {};
  const seconds = numberMember(spec, 'leaseDurationSeconds');
  if (seconds !== undefined && seconds <= 0)
    report.invalid('spec.leaseDurationSeconds', seconds, 'must be greater than 0');
  nonNegative(report, numberMember(spec, 'leaseTransitions'), 'spec.leaseTransitions');
}

export function validateEndpointSlice(report: FieldErrorReport, object: JsonObject, old: JsonObject | undefined): void {
  if (stringMember(object, 'addressType') === '') report.required('addressType');
  listMember(object, 'endpoints').forEach((endpoint, i) => {
    if (listMember(endpoint, 'addresses').length === 0)
      report.required(`endpoints[${i}].addresses`, 'must contain at least 1 address');
  });
  requireImmutable(report, { object, old, keys: ['addressType'], path: '' });
}

export function validateIngressClass(report: FieldErrorReport, object: JsonObject, old: JsonObject | undefined): void {
  requireImmutable(report, {
    object: objectMember(object, 'spec') ?? {},
    old: old === undefined ? undefined : (objectMember(old, 'spec') ?? {}),
    keys: ['controller'],
    path: 'spec',
  });
}
