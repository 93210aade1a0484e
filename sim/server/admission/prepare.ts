import { isObject } from '#base';
import type { Json, JsonObject } from '#base';
import type { KubeObject } from '#model';
import { prepareCrd } from '../discovery/crd-kinds.ts';
import { fieldAt, itemsAt, stringOrEmpty, stringAt, withField, withMeta } from '../fields.ts';
import type { ServedKind } from '../discovery/registry.ts';

/** Cluster-wide allocations that a kind's strategy needs. */
export interface ServiceAllocator {
  clusterIp(): string;
  nodePort(): number;
}

type KindStrategy = (object: KubeObject, old: KubeObject | undefined, allocate: ServiceAllocator) => KubeObject;

/**
 * Applies a built-in kind's strategy and the default admission plugins beyond plain defaults:
 * initial status, addresses, generated selectors, write-only fields (kubernetes:
 * pkg/registry/.../strategy.go). `old` is undefined on create.
 */
export function applyStrategy(
  kind: ServedKind,
  object: KubeObject,
  old: KubeObject | undefined,
  allocate: ServiceAllocator,
): KubeObject {
  const specific = kind.custom ? undefined : kindStrategies[kind.groupKind];
  const begun = old === undefined ? withInitialStatus(kind, object) : object;
  return specific === undefined ? begun : specific(begun, old, allocate);
}

const initialStatus: Readonly<Record<string, JsonObject>> = {
  '/Namespace': { phase: 'Active' },
  '/PersistentVolume': { phase: 'Pending' },
  '/PersistentVolumeClaim': { phase: 'Pending' },
  '/ReplicationController': { replicas: 0 },
  '/ResourceQuota': {},
  '/Service': { loadBalancer: {} },
  'apps/DaemonSet': { currentNumberScheduled: 0, desiredNumberScheduled: 0, numberMisscheduled: 0, numberReady: 0 },
  'apps/Deployment': {},
  'apps/ReplicaSet': { replicas: 0 },
  'apps/StatefulSet': { availableReplicas: 0, replicas: 0 },
  'autoscaling/HorizontalPodAutoscaler': { currentMetrics: null, desiredReplicas: 0 },
  'batch/CronJob': {},
  'batch/Job': {},
  'networking.k8s.io/Ingress': { loadBalancer: {} },
  'policy/PodDisruptionBudget': { currentHealthy: 0, desiredHealthy: 0, disruptionsAllowed: 0, expectedPods: 0 },
};

/**
 * A client cannot set the status of a new object if status is a subresource. Nodes are the
 * exception.
 */
function withInitialStatus(kind: ServedKind, object: KubeObject): KubeObject {
  if (!kind.statusSubresource || kind.groupKind === '/Node') return object;
  return withField(object, 'status', kind.custom ? undefined : initialStatus[kind.groupKind]);
}

const kindStrategies: Readonly<Record<string, KindStrategy>> = {
  'apiextensions.k8s.io/CustomResourceDefinition': prepareCrd,
  '/Namespace': prepareNamespace,
  '/Pod': preparePod,
  '/Service': prepareService,
  'batch/Job': prepareJob,
};

/**
 * Conversion and defaulting beyond missing fields. The result is owned by the client, unlike the
 * fields that `prepare` adds.
 */
export function applyConversion(kind: ServedKind, object: KubeObject): KubeObject {
  if (kind.custom || kind.groupKind !== 'batch/Job') return object;
  const spec = (fieldAt(object, 'spec') ?? {}) as JsonObject;
  return withField(object, 'spec', { ...spec, manualSelector: spec['manualSelector'] ?? false });
}

function prepareNamespace(object: KubeObject, old: KubeObject | undefined): KubeObject {
  if (old !== undefined) return withField(object, 'spec', fieldAt(old, 'spec'));
  const finalizers = fieldAt(object, 'spec', 'finalizers');
  const all = new Set([...(Array.isArray(finalizers) ? finalizers.map(stringOrEmpty) : []), 'kubernetes']);
  return withField(object, 'spec', { finalizers: [...all] });
}

function preparePod(object: KubeObject, old: KubeObject | undefined): KubeObject {
  if (old !== undefined) return object;
  const spec = (fieldAt(object, 'spec') ?? {}) as JsonObject;
  const account = stringOrEmpty(spec['serviceAccountName']) || stringOrEmpty(spec['serviceAccount']) || 'default';
  return {
    ...object,
    spec: { ...spec, serviceAccount: account, serviceAccountName: account },
    status: { phase: 'Pending', qosClass: qosClass(object) },
  };
}

function qosClass(pod: KubeObject): string {
  const resources = itemsAt(pod, 'spec', 'containers').map((container) => container['resources']);
  const wants = resources.map((one) => (isObject(one) ? one : {}));
  if (wants.every((one) => !isObject(one['requests']) && !isObject(one['limits']))) return 'BestEffort';
  const whole = wants.every(({ limits, requests }) => {
    if (!isObject(limits) || limits['cpu'] === undefined || limits['memory'] === undefined) return false;
    const asked = isObject(requests) ? requests : limits;
    return ['cpu', 'memory'].every((name) => (asked[name] ?? limits[name]) === limits[name]);
  });
  return whole ? 'Guaranteed' : 'Burstable';
}

function prepareService(object: KubeObject, old: KubeObject | undefined, allocate: ServiceAllocator): KubeObject {
  const spec = { ...((fieldAt(object, 'spec') ?? {}) as JsonObject) } as Record<string, Json | undefined>;
  const type = stringOrEmpty(spec['type']) || 'ClusterIP';
  if (type === 'ExternalName') {
    for (const key of ['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy', 'internalTrafficPolicy'])
      Reflect.deleteProperty(spec, key);
    return { ...object, spec };
  }
  const address = stringOrEmpty(spec['clusterIP']) || clusterIpOf(old) || allocate.clusterIp();
  spec['clusterIP'] = address;
  spec['clusterIPs'] ??= [address];
  const open = address === 'None' && isWithoutSelector(spec);
  spec['ipFamilies'] ??= open ? ['IPv4', 'IPv6'] : [address.includes(':') ? 'IPv6' : 'IPv4'];
  spec['ipFamilyPolicy'] ??= open ? 'RequireDualStack' : 'SingleStack';
  if (type === 'NodePort' || type === 'LoadBalancer') spec['ports'] = withNodePorts(object, old, allocate);
  return { ...object, spec: spec };
}

function clusterIpOf(old: KubeObject | undefined): string {
  return old === undefined ? '' : stringAt(old, 'spec', 'clusterIP');
}

/** Without a selector the address families of the endpoints are unknown. */
function isWithoutSelector({ selector }: Readonly<Record<string, Json | undefined>>): boolean {
  return !isObject(selector) || Object.keys(selector).length === 0;
}

function withNodePorts(object: KubeObject, old: KubeObject | undefined, allocate: ServiceAllocator): Json {
  const before = old === undefined ? [] : itemsAt(old, 'spec', 'ports');
  return itemsAt(object, 'spec', 'ports').map((port) => {
    if (typeof port['nodePort'] === 'number' && port['nodePort'] !== 0) return port;
    const same = before.find((one) => one['port'] === port['port'] && one['protocol'] === port['protocol']);
    return { ...port, nodePort: same?.['nodePort'] ?? allocate.nodePort() };
  });
}

/** A Job without manualSelector selects its pods by its own UID. */
function prepareJob(object: KubeObject, old: KubeObject | undefined): KubeObject {
  const spec = { ...((fieldAt(object, 'spec') ?? {}) as JsonObject) } as Record<string, Json | undefined>;
  if (old !== undefined || spec['manualSelector'] === true) return object;
  const uid = object.metadata.uid ?? '';
  const name = object.metadata.name ?? '';
  const template = (spec['template'] ?? {}) as JsonObject;
  const metadata = (template['metadata'] ?? {}) as JsonObject;
  const labels = {
    ...((metadata['labels'] ?? {}) as JsonObject),
    'batch.kubernetes.io/controller-uid': uid,
    'batch.kubernetes.io/job-name': name,
    'controller-uid': uid,
    'job-name': name,
  };
  spec['selector'] = { matchLabels: { 'batch.kubernetes.io/controller-uid': uid } };
  spec['template'] = { ...template, metadata: { ...metadata, labels } };
  // A Job without labels gets those of its pods.
  const own = object.metadata.labels ?? labels;
  return withMeta({ ...object, spec: spec }, { labels: own });
}
