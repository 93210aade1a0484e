import { isObject } from '#base';
import type { Json, JsonObject } from '#base';
import type { KubeObject } from '#model';
import { prepareCrd } from './crd-kinds.ts';
import { field, items, str, text, withField, withMeta } from './fields.ts';
import type { ServedKind } from './registry.ts';

/** What a kind's own strategy needs from its surroundings. */
export interface Allocator {
  clusterIp(): string;
  nodePort(): number;
}

type Prepare = (object: KubeObject, old: KubeObject | undefined, allocate: Allocator) => KubeObject;

/**
 * What a built-in kind's strategy and the usual admission plugins fill in, beyond plain defaults: initial status, addresses, generated
 * selectors, write-only fields (kubernetes: pkg/registry/.../strategy.go). `old` is undefined on create.
 */
export function prepare(
  kind: ServedKind,
  object: KubeObject,
  old: KubeObject | undefined,
  allocate: Allocator,
): KubeObject {
  const specific = kind.custom ? undefined : strategies[kind.shelf];
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

/** A client cannot set the status of a new object where status is a subresource. Nodes are the exception. */
function withInitialStatus(kind: ServedKind, object: KubeObject): KubeObject {
  if (!kind.statusSubresource || kind.shelf === '/Node') return object;
  return withField(object, 'status', kind.custom ? undefined : initialStatus[kind.shelf]);
}

const strategies: Readonly<Record<string, Prepare>> = {
  'apiextensions.k8s.io/CustomResourceDefinition': prepareCrd,
  '/Namespace': prepareNamespace,
  '/Pod': preparePod,
  '/Secret': prepareSecret,
  '/Service': prepareService,
  'batch/Job': prepareJob,
};

function prepareNamespace(object: KubeObject, old: KubeObject | undefined): KubeObject {
  const name = object.metadata.name ?? '';
  const labelled = withMeta(object, { labels: { ...object.metadata.labels, 'kubernetes.io/metadata.name': name } });
  if (old !== undefined) return withField(labelled, 'spec', field(old, 'spec'));
  const finalizers = field(object, 'spec', 'finalizers');
  const all = new Set([...(Array.isArray(finalizers) ? finalizers.map(str) : []), 'kubernetes']);
  return withField(labelled, 'spec', { finalizers: [...all] });
}

function preparePod(object: KubeObject, old: KubeObject | undefined): KubeObject {
  if (old !== undefined) return object;
  const spec = (field(object, 'spec') ?? {}) as JsonObject;
  const account = str(spec['serviceAccountName']) || str(spec['serviceAccount']) || 'default';
  return {
    ...object,
    spec: { ...spec, serviceAccount: account, serviceAccountName: account },
    status: { phase: 'Pending', qosClass: qosClass(object) },
  };
}

function qosClass(pod: KubeObject): string {
  const resources = items(pod, 'spec', 'containers').map((container) => container['resources']);
  const wants = resources.map((one) => (isObject(one) ? one : {}));
  if (wants.every((one) => !isObject(one['requests']) && !isObject(one['limits']))) return 'BestEffort';
  const whole = wants.every(({ limits, requests }) => {
    if (!isObject(limits) || limits['cpu'] === undefined || limits['memory'] === undefined) return false;
    const asked = isObject(requests) ? requests : limits;
    return ['cpu', 'memory'].every((name) => (asked[name] ?? limits[name]) === limits[name]);
  });
  return whole ? 'Guaranteed' : 'Burstable';
}

/** `stringData` is write-only: it ends up in `data`, base64. */
function prepareSecret(object: KubeObject): KubeObject {
  const plain = field(object, 'stringData');
  if (!isObject(plain)) return object;
  const data: Record<string, Json> = { ...((field(object, 'data') ?? {}) as Record<string, Json>) };
  for (const [key, value] of Object.entries(plain)) data[key] = Buffer.from(str(value)).toString('base64');
  return withField(withField(object, 'stringData', undefined), 'data', data);
}

function prepareService(object: KubeObject, old: KubeObject | undefined, allocate: Allocator): KubeObject {
  const spec = { ...((field(object, 'spec') ?? {}) as JsonObject) } as Record<string, Json | undefined>;
  const type = str(spec['type']) || 'ClusterIP';
  if (type === 'ExternalName') return object;
  const before = old === undefined ? '' : text(old, 'spec', 'clusterIP');
  const address = str(spec['clusterIP']) || before || allocate.clusterIp();
  spec['clusterIP'] = address;
  spec['clusterIPs'] ??= [address];
  spec['ipFamilies'] ??= ['IPv4'];
  spec['ipFamilyPolicy'] ??= 'SingleStack';
  if (type === 'NodePort' || type === 'LoadBalancer') spec['ports'] = withNodePorts(object, old, allocate);
  return { ...object, spec: spec };
}

function withNodePorts(object: KubeObject, old: KubeObject | undefined, allocate: Allocator): Json {
  const before = old === undefined ? [] : items(old, 'spec', 'ports');
  return items(object, 'spec', 'ports').map((port) => {
    if (typeof port['nodePort'] === 'number' && port['nodePort'] !== 0) return port;
    const same = before.find((one) => one['port'] === port['port'] && one['protocol'] === port['protocol']);
    return { ...port, nodePort: same?.['nodePort'] ?? allocate.nodePort() };
  });
}

/** A Job without manualSelector selects its pods by its own uid. */
function prepareJob(object: KubeObject, old: KubeObject | undefined): KubeObject {
  const spec = { ...((field(object, 'spec') ?? {}) as JsonObject) } as Record<string, Json | undefined>;
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
  return { ...object, spec: spec };
}
