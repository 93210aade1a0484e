import type { MutableJsonObject } from '#base';
import { child, children, childOrNew, fill, fillZero } from './fill.ts';
import { defaultVolumeSource } from './pod.ts';

/** Defaults of core/v1 kinds that run nothing, and of networking, rbac, storage, scheduling, admission and extension kinds. */

export function service(object: MutableJsonObject): void {
  const spec = childOrNew(object, 'spec');
  fillZero(spec, 'sessionAffinity', 'None');
  fillZero(spec, 'type', 'ClusterIP');
  if (spec['sessionAffinity'] === 'ClientIP')
    fill(childOrNew(childOrNew(spec, 'sessionAffinityConfig'), 'clientIP'), 'timeoutSeconds', 10_800);
  for (const port of children(spec, 'ports')) {
    fillZero(port, 'protocol', 'TCP');
    if (port['port'] !== undefined) fillZero(port, 'targetPort', port['port']);
  }
  const type = spec['type'];
  if (type === 'NodePort' || type === 'LoadBalancer') fillZero(spec, 'externalTrafficPolicy', 'Cluster');
  if (type === 'LoadBalancer') fill(spec, 'allocateLoadBalancerNodePorts', true);
  if (type === 'ExternalName') return;
  fillZero(spec, 'internalTrafficPolicy', 'Cluster');
}

/** `stringData` is for writing only: it lands in `data`, encoded. */
export function secret(object: MutableJsonObject): void {
  fillZero(object, 'type', 'Opaque');
  const plain = child(object, 'stringData');
  if (plain !== undefined) {
    const data = childOrNew(object, 'data');
    for (const [key, value] of Object.entries(plain))
      if (typeof value === 'string') data[key] = Buffer.from(value, 'utf8').toString('base64');
  }
  delete object['stringData'];
}

export function namespace(object: MutableJsonObject): void {
  const metadata = childOrNew(object, 'metadata');
  const name = metadata['name'];
  // The label is the server's, whatever the request says.
  if (typeof name === 'string' && name !== '') childOrNew(metadata, 'labels')['kubernetes.io/metadata.name'] = name;
  fillZero(childOrNew(object, 'status'), 'phase', 'Active');
}

export function persistentVolume(object: MutableJsonObject): void {
  const spec = childOrNew(object, 'spec');
  fillZero(spec, 'persistentVolumeReclaimPolicy', 'Retain');
  fill(spec, 'volumeMode', 'Filesystem');
  defaultVolumeSource(spec);
  fillZero(childOrNew(object, 'status'), 'phase', 'Pending');
}

export function endpoints(object: MutableJsonObject): void {
  for (const subset of children(object, 'subsets'))
    for (const port of children(subset, 'ports')) fillZero(port, 'protocol', 'TCP');
}

export function endpointSlice(object: MutableJsonObject): void {
  for (const port of children(object, 'ports')) {
    fill(port, 'name', '');
    fill(port, 'protocol', 'TCP');
  }
}

/** A container's limit range fills its blanks downwards: max, default, then defaultRequest. */
export function limitRange(object: MutableJsonObject): void {
  for (const item of children(child(object, 'spec'), 'limits')) {
    if (item['type'] !== 'Container') continue;
    copyMissing(child(item, 'max'), item, 'default');
    copyMissing(child(item, 'default'), item, 'defaultRequest');
    copyMissing(child(item, 'min'), item, 'defaultRequest');
  }
}

function copyMissing(from: MutableJsonObject | undefined, into: MutableJsonObject, key: string): void {
  for (const [name, amount] of Object.entries(from ?? {}))
    if (amount !== undefined) fill(childOrNew(into, key), name, amount);
}

export function ingressClass(object: MutableJsonObject): void {
  const parameters = child(child(object, 'spec'), 'parameters');
  if (parameters !== undefined) fill(parameters, 'scope', 'Cluster');
}

export function networkPolicy(object: MutableJsonObject): void {
  const spec = childOrNew(object, 'spec');
  for (const direction of ['ingress', 'egress'])
    for (const rule of children(spec, direction))
      for (const port of children(rule, 'ports')) fill(port, 'protocol', 'TCP');
  const types = spec['policyTypes'];
  if (Array.isArray(types) && types.length > 0) return;
  spec['policyTypes'] = children(spec, 'egress').length > 0 ? ['Ingress', 'Egress'] : ['Ingress'];
}

const rbacGroup = 'rbac.authorization.k8s.io';

export function binding(object: MutableJsonObject): void {
  const roleRef = child(object, 'roleRef');
  if (roleRef !== undefined) fillZero(roleRef, 'apiGroup', rbacGroup);
  for (const subject of children(object, 'subjects'))
    if (subject['kind'] === 'User' || subject['kind'] === 'Group') fillZero(subject, 'apiGroup', rbacGroup);
}

export function storageClass(object: MutableJsonObject): void {
  fill(object, 'reclaimPolicy', 'Delete');
  fill(object, 'volumeBindingMode', 'Immediate');
}

export function priorityClass(object: MutableJsonObject): void {
  fill(object, 'preemptionPolicy', 'PreemptLowerPriority');
}

export function webhooks(object: MutableJsonObject): void {
  for (const webhook of children(object, 'webhooks')) {
    fill(webhook, 'failurePolicy', 'Fail');
    fill(webhook, 'matchPolicy', 'Equivalent');
    fill(webhook, 'namespaceSelector', {});
    fill(webhook, 'objectSelector', {});
    fill(webhook, 'timeoutSeconds', 10);
    if (object['kind'] === 'MutatingWebhookConfiguration') fill(webhook, 'reinvocationPolicy', 'Never');
    const target = child(child(webhook, 'clientConfig'), 'service');
    if (target !== undefined) fill(target, 'port', 443);
    for (const rule of children(webhook, 'rules')) fill(rule, 'scope', '*');
  }
}

export function customResourceDefinition(object: MutableJsonObject): void {
  const spec = childOrNew(object, 'spec');
  const names = childOrNew(spec, 'names');
  const kind = names['kind'];
  if (typeof kind === 'string') {
    fillZero(names, 'singular', kind.toLowerCase());
    fillZero(names, 'listKind', `${kind}List`);
  }
  const conversion = childOrNew(spec, 'conversion');
  fillZero(conversion, 'strategy', 'None');
  const target = child(child(child(conversion, 'webhook'), 'clientConfig'), 'service');
  if (target !== undefined) fill(target, 'port', 443);
}

export function apiService(object: MutableJsonObject): void {
  const target = child(child(object, 'spec'), 'service');
  if (target !== undefined) fill(target, 'port', 443);
}
