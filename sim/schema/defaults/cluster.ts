import type { MutableJsonObject } from '#base';
import { objectChild, objectChildren, childOrNew, fillMissing, fillZeroValue } from './fill.ts';
import { defaultVolumeSource } from './pod.ts';

/**
 * Defaults of core/v1 kinds other than workloads, and of networking, rbac, storage, scheduling,
 * admission and extension kinds.
 */

export function defaultService(object: MutableJsonObject): void {
  const spec = childOrNew(object, 'spec');
  fillZeroValue(spec, 'sessionAffinity', 'None');
  fillZeroValue(spec, 'type', 'ClusterIP');
  if (spec['sessionAffinity'] === 'ClientIP')
    fillMissing(childOrNew(childOrNew(spec, 'sessionAffinityConfig'), 'clientIP'), 'timeoutSeconds', 10_800);
  else if (spec['sessionAffinity'] === 'None') delete spec['sessionAffinityConfig'];
  for (const port of objectChildren(spec, 'ports')) {
    fillZeroValue(port, 'protocol', 'TCP');
    if (port['port'] !== undefined) fillZeroValue(port, 'targetPort', port['port']);
  }
  const type = spec['type'];
  if (type === 'NodePort' || type === 'LoadBalancer') fillZeroValue(spec, 'externalTrafficPolicy', 'Cluster');
  if (type === 'LoadBalancer') fillMissing(spec, 'allocateLoadBalancerNodePorts', true);
  if (type === 'ExternalName') return;
  fillZeroValue(spec, 'internalTrafficPolicy', 'Cluster');
}

/** `stringData` is write-only: it is encoded into `data`. */
export function defaultSecret(object: MutableJsonObject): void {
  fillZeroValue(object, 'type', 'Opaque');
  const plain = objectChild(object, 'stringData');
  if (plain !== undefined) {
    const data = childOrNew(object, 'data');
    for (const [key, value] of Object.entries(plain))
      if (typeof value === 'string') data[key] = Buffer.from(value, 'utf8').toString('base64');
  }
  delete object['stringData'];
}

export function defaultNamespace(object: MutableJsonObject): void {
  const metadata = childOrNew(object, 'metadata');
  const name = metadata['name'];
  // The server sets the label, whatever the request contains.
  if (typeof name === 'string' && name !== '') childOrNew(metadata, 'labels')['kubernetes.io/metadata.name'] = name;
  fillZeroValue(childOrNew(object, 'status'), 'phase', 'Active');
}

export function defaultPersistentVolume(object: MutableJsonObject): void {
  const spec = childOrNew(object, 'spec');
  fillZeroValue(spec, 'persistentVolumeReclaimPolicy', 'Retain');
  fillMissing(spec, 'volumeMode', 'Filesystem');
  defaultVolumeSource(spec);
  fillZeroValue(childOrNew(object, 'status'), 'phase', 'Pending');
}

export function defaultEndpoints(object: MutableJsonObject): void {
  for (const subset of objectChildren(object, 'subsets'))
    for (const port of objectChildren(subset, 'ports')) fillZeroValue(port, 'protocol', 'TCP');
}

export function defaultEndpointSlice(object: MutableJsonObject): void {
  for (const port of objectChildren(object, 'ports')) {
    fillMissing(port, 'name', '');
    fillMissing(port, 'protocol', 'TCP');
  }
}

/** Missing limits of a container default downwards: max, default, then defaultRequest. */
export function defaultLimitRange(object: MutableJsonObject): void {
  for (const item of objectChildren(objectChild(object, 'spec'), 'limits')) {
    if (item['type'] !== 'Container') continue;
    copyMissing(objectChild(item, 'max'), item, 'default');
    copyMissing(objectChild(item, 'default'), item, 'defaultRequest');
    copyMissing(objectChild(item, 'min'), item, 'defaultRequest');
  }
}

function copyMissing(from: MutableJsonObject | undefined, into: MutableJsonObject, key: string): void {
  for (const [name, amount] of Object.entries(from ?? {}))
    if (amount !== undefined) fillMissing(childOrNew(into, key), name, amount);
}

export function defaultIngressClass(object: MutableJsonObject): void {
  const parameters = objectChild(objectChild(object, 'spec'), 'parameters');
  if (parameters !== undefined) fillMissing(parameters, 'scope', 'Cluster');
}

export function defaultNetworkPolicy(object: MutableJsonObject): void {
  const spec = childOrNew(object, 'spec');
  for (const direction of ['ingress', 'egress'])
    for (const rule of objectChildren(spec, direction))
      for (const port of objectChildren(rule, 'ports')) fillMissing(port, 'protocol', 'TCP');
  const types = spec['policyTypes'];
  if (Array.isArray(types) && types.length > 0) return;
  spec['policyTypes'] = objectChildren(spec, 'egress').length > 0 ? ['Ingress', 'Egress'] : ['Ingress'];
}

const rbacGroup = 'rbac.authorization.k8s.io';

export function defaultBinding(object: MutableJsonObject): void {
  const roleRef = objectChild(object, 'roleRef');
  if (roleRef !== undefined) fillZeroValue(roleRef, 'apiGroup', rbacGroup);
  for (const subject of objectChildren(object, 'subjects'))
    if (subject['kind'] === 'User' || subject['kind'] === 'Group') fillZeroValue(subject, 'apiGroup', rbacGroup);
}

export function defaultStorageClass(object: MutableJsonObject): void {
  fillMissing(object, 'reclaimPolicy', 'Delete');
  fillMissing(object, 'volumeBindingMode', 'Immediate');
}

export function defaultPriorityClass(object: MutableJsonObject): void {
  fillMissing(object, 'preemptionPolicy', 'PreemptLowerPriority');
}

export function defaultWebhooks(object: MutableJsonObject): void {
  for (const webhook of objectChildren(object, 'webhooks')) {
    fillMissing(webhook, 'failurePolicy', 'Fail');
    fillMissing(webhook, 'matchPolicy', 'Equivalent');
    fillMissing(webhook, 'namespaceSelector', {});
    fillMissing(webhook, 'objectSelector', {});
    fillMissing(webhook, 'timeoutSeconds', 10);
    if (object['kind'] === 'MutatingWebhookConfiguration') fillMissing(webhook, 'reinvocationPolicy', 'Never');
    const target = objectChild(objectChild(webhook, 'clientConfig'), 'service');
    if (target !== undefined) fillMissing(target, 'port', 443);
    for (const rule of objectChildren(webhook, 'rules')) fillMissing(rule, 'scope', '*');
  }
}

export function defaultCustomResourceDefinition(object: MutableJsonObject): void {
  const spec = childOrNew(object, 'spec');
  const names = childOrNew(spec, 'names');
  const kind = names['kind'];
  if (typeof kind === 'string' && kind !== '') {
    fillZeroValue(names, 'singular', kind.toLowerCase());
    fillZeroValue(names, 'listKind', `${kind}List`);
  }
  const conversion = childOrNew(spec, 'conversion');
  fillZeroValue(conversion, 'strategy', 'None');
  const target = objectChild(objectChild(objectChild(conversion, 'webhook'), 'clientConfig'), 'service');
  if (target !== undefined) fillMissing(target, 'port', 443);
}

export function defaultApiService(object: MutableJsonObject): void {
  const target = objectChild(objectChild(object, 'spec'), 'service');
  if (target !== undefined) fillMissing(target, 'port', 443);
}
