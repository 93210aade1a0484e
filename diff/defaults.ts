import { isObject, own, setOwn } from '#base';
import type { Json, JsonObject, MutableJson, MutableJsonObject } from '#base';
import { fieldOf } from './schema.ts';
import type { TypeSchema } from './schema.ts';
import { copyOf, isList, textOf } from './values.ts';

type Members = Readonly<Record<string, Json>>;
const probe: Members = { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 };
const mode: Members = { defaultMode: 420 };
const webhook: Members = {
  failurePolicy: 'Fail',
  matchPolicy: 'Equivalent',
  namespaceSelector: {},
  objectSelector: {},
  timeoutSeconds: 10,
};

/** What the API server fills in when a field is absent, by type (kubernetes/pkg/apis, defaults.go of each group). */
const constants: Readonly<Record<string, Members>> = {
  PodSpec: {
    dnsPolicy: 'ClusterFirst',
    restartPolicy: 'Always',
    schedulerName: 'default-scheduler',
    securityContext: {},
    terminationGracePeriodSeconds: 30,
  },
  Container: { terminationMessagePath: '/dev/termination-log', terminationMessagePolicy: 'File', resources: {} },
  ContainerPort: { protocol: 'TCP' },
  Probe: probe,
  HTTPGetAction: { path: '/', scheme: 'HTTP' },
  GRPCAction: { service: '' },
  ObjectFieldSelector: { apiVersion: 'v1' },
  ResourceFieldSelector: { divisor: '0' },
  SecretVolumeSource: mode,
  ConfigMapVolumeSource: mode,
  DownwardAPIVolumeSource: mode,
  ProjectedVolumeSource: mode,
  ServiceAccountTokenProjection: { expirationSeconds: 3600 },
  HostPathVolumeSource: { type: '' },
  ISCSIVolumeSource: { iscsiInterface: 'default' },
  ISCSIPersistentVolumeSource: { iscsiInterface: 'default' },
  RBDVolumeSource: { pool: 'rbd', user: 'admin', keyring: '/etc/ceph/keyring' },
  RBDPersistentVolumeSource: { pool: 'rbd', user: 'admin', keyring: '/etc/ceph/keyring' },
  AzureDiskVolumeSource: { cachingMode: 'ReadWrite', fsType: 'ext4', readOnly: false, kind: 'Shared' },
  ScaleIOVolumeSource: { storageMode: 'ThinProvisioned', fsType: 'xfs' },
  ScaleIOPersistentVolumeSource: { storageMode: 'ThinProvisioned', fsType: 'xfs' },
  PersistentVolumeClaimSpec: { volumeMode: 'Filesystem' },
  PersistentVolumeSpec: { persistentVolumeReclaimPolicy: 'Retain', volumeMode: 'Filesystem' },
  ServicePort: { protocol: 'TCP' },
  ServiceSpec: { type: 'ClusterIP', sessionAffinity: 'None' },
  Secret: { type: 'Opaque' },
  EndpointPort: { protocol: 'TCP' },
  DeploymentSpec: {
    replicas: 1,
    revisionHistoryLimit: 10,
    progressDeadlineSeconds: 600,
    strategy: { type: 'RollingUpdate' },
  },
  DeploymentStrategy: { type: 'RollingUpdate' },
  ReplicaSetSpec: { replicas: 1 },
  StatefulSetSpec: {
    replicas: 1,
    revisionHistoryLimit: 10,
    podManagementPolicy: 'OrderedReady',
    updateStrategy: { type: 'RollingUpdate' },
    persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' },
  },
  StatefulSetUpdateStrategy: { type: 'RollingUpdate' },
  RollingUpdateStatefulSetStrategy: { partition: 0 },
  DaemonSetSpec: { revisionHistoryLimit: 10, updateStrategy: { type: 'RollingUpdate' } },
  DaemonSetUpdateStrategy: { type: 'RollingUpdate' },
  RollingUpdateDeployment: { maxUnavailable: '25%', maxSurge: '25%' },
  RollingUpdateDaemonSet: { maxUnavailable: 1, maxSurge: 0 },
  JobSpec: { backoffLimit: 6, completionMode: 'NonIndexed', suspend: false },
  PodFailurePolicyOnPodConditionsPattern: { status: 'True' },
  CronJobSpec: {
    concurrencyPolicy: 'Allow',
    suspend: false,
    successfulJobsHistoryLimit: 3,
    failedJobsHistoryLimit: 1,
  },
  HorizontalPodAutoscalerSpec: { minReplicas: 1 },
  'autoscaling.v1.HorizontalPodAutoscalerSpec': { minReplicas: 1 },
  'autoscaling.v2.HorizontalPodAutoscalerSpec': { minReplicas: 1 },
  NetworkPolicyPort: { protocol: 'TCP' },
  RoleRef: { apiGroup: 'rbac.authorization.k8s.io' },
  MutatingWebhook: { ...webhook, reinvocationPolicy: 'Never' },
  ValidatingWebhook: webhook,
  ServiceReference: { port: 443 },
  RuleWithOperations: { scope: '*' },
  StorageClass: { reclaimPolicy: 'Delete', volumeBindingMode: 'Immediate' },
  PriorityClass: { preemptionPolicy: 'PreemptLowerPriority' },
};

/** Defaults that depend on other fields of the same struct. */
const computed: Readonly<Record<string, (object: JsonObject) => Members>> = {
  Container: (container) => ({ imagePullPolicy: pullPolicy(container) }),
  ServicePort: (port) => ({ targetPort: own(port, 'port') ?? 0 }),
  DeploymentStrategy: (strategy) =>
    own(strategy, 'type') === 'RollingUpdate' ? { rollingUpdate: constants['RollingUpdateDeployment'] ?? {} } : {},
  StatefulSetUpdateStrategy: (strategy) =>
    own(strategy, 'type') === 'RollingUpdate' ? { rollingUpdate: { partition: 0 } } : {},
  DaemonSetUpdateStrategy: (strategy) =>
    own(strategy, 'type') === 'RollingUpdate' ? { rollingUpdate: constants['RollingUpdateDaemonSet'] ?? {} } : {},
  ServiceSpec: (spec) => serviceDefaults(spec),
  JobSpec: (spec) =>
    own(spec, 'completions') === undefined && own(spec, 'parallelism') === undefined
      ? { completions: 1, parallelism: 1 }
      : { parallelism: 1 },
  NetworkPolicySpec: (spec) => ({
    policyTypes: isList(own(spec, 'egress')) ? ['Ingress', 'Egress'] : ['Ingress'],
  }),
  'rbac.v1.Subject': (subject) =>
    ['User', 'Group'].includes(textOf(own(subject, 'kind'))) ? { apiGroup: 'rbac.authorization.k8s.io' } : {},
  ResourceRequirements: (resources) => requestsFromLimits(resources),
};

function pullPolicy(container: JsonObject): string {
  const image = own(container, 'image');
  if (typeof image !== 'string') return 'IfNotPresent';
  const last = image.slice(image.lastIndexOf('/') + 1);
  return !image.includes('@') && (!last.includes(':') || last.endsWith(':latest')) ? 'Always' : 'IfNotPresent';
}

function serviceDefaults(spec: JsonObject): Members {
  const type = own(spec, 'type');
  if (type === 'ExternalName') return {};
  const internal: Members = { internalTrafficPolicy: 'Cluster' };
  if (type === 'NodePort') return { ...internal, externalTrafficPolicy: 'Cluster' };
  if (type === 'LoadBalancer')
    return { ...internal, externalTrafficPolicy: 'Cluster', allocateLoadBalancerNodePorts: true };
  return internal;
}

/** Each limit without a request is a request (pod defaults). */
function requestsFromLimits(resources: JsonObject): Members {
  const limits = own(resources, 'limits');
  if (!isObject(limits) || Object.keys(limits).length === 0) return {};
  const requests = own(resources, 'requests');
  return { requests: { ...limits, ...(isObject(requests) ? requests : {}) } };
}

/**
 * A value of a known type with what the API server would fill in, so that two objects compare as it would store them. Only absent fields
 * are filled; the same reference comes back when nothing is missing; idempotent. Argo CD applies the scheme's defaults to both sides
 * (gitops-engine/pkg/diff applyPatch); the table here is the part of them that shows in live objects.
 */
export function withDefaults(value: Json, type: TypeSchema | undefined): Json {
  if (type === undefined || type.form === 'scalar') return value;
  if (type.form === 'list') return isList(value) ? listDefaults(value, type.items) : value;
  if (!isObject(value)) return value;
  return membersWithDefaults(type.form === 'struct' ? filled(value, type.name) : value, type);
}

function listDefaults(list: readonly Json[], items: TypeSchema): Json {
  let changed: Json[] | undefined;
  for (const [i, item] of list.entries()) {
    const after = withDefaults(item, items);
    if (after === item) continue;
    changed ??= [...list];
    changed[i] = after;
  }
  return changed ?? list;
}

function membersWithDefaults(object: JsonObject, type: TypeSchema): JsonObject {
  let changed: MutableJsonObject | undefined;
  for (const key of Object.keys(object)) {
    const before = object[key];
    if (before === undefined) continue;
    const after = withDefaults(before, fieldOf(type, key)?.type);
    if (after === before) continue;
    changed ??= copyOf(object);
    setOwn(changed, key, after as MutableJson);
  }
  return changed ?? object;
}

function filled(object: JsonObject, typeName: string): JsonObject {
  const first = fill(object, Object.hasOwn(constants, typeName) ? constants[typeName] : undefined);
  const compute = Object.hasOwn(computed, typeName) ? computed[typeName] : undefined;
  return compute === undefined ? first : fill(first, compute(first), typeName === 'ResourceRequirements');
}

function fill(object: JsonObject, members: Members | undefined, replace = false): JsonObject {
  if (members === undefined) return object;
  let changed: MutableJsonObject | undefined;
  for (const [key, value] of Object.entries(members)) {
    const present = own(object, key);
    if (
      present !== undefined &&
      present !== null &&
      !(replace && isObject(present) && isObject(value) && Object.keys(value).length > Object.keys(present).length)
    )
      continue;
    changed ??= copyOf(object);
    setOwn(changed, key, value as MutableJson);
  }
  return changed ?? object;
}
