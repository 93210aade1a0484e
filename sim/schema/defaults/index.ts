import { cloneJson } from '#base';
import type { MutableJsonObject } from '#base';
import type { KubeObject } from '#model';
import type { KindDefinition } from '../../types.ts';
import * as cluster from './cluster.ts';
import { defaultCustom } from './custom.ts';
import { objectChild, childOrNew } from './fill.ts';
import { defaultPod, defaultPodSpec, defaultPodTemplate } from './pod.ts';
import * as workloads from './workloads.ts';

type KindDefaulter = (object: MutableJsonObject) => void;

const rbacGroup = 'rbac.authorization.k8s.io';
/** By "group/Kind", or "group/version/Kind" if versions differ. Other kinds have no defaults. */
const defaulters: ReadonlyMap<string, KindDefaulter> = new Map<string, KindDefaulter>([
  ['/Pod', defaultWholePod],
  ['/PodTemplate', (object) => defaultPodTemplate(object)],
  ['/Service', cluster.defaultService],
  ['/Secret', cluster.defaultSecret],
  ['/Namespace', cluster.defaultNamespace],
  ['/Node', defaultNode],
  ['/PersistentVolume', cluster.defaultPersistentVolume],
  ['/PersistentVolumeClaim', workloads.defaultPersistentVolumeClaim],
  ['/Endpoints', cluster.defaultEndpoints],
  ['/LimitRange', cluster.defaultLimitRange],
  ['/ReplicationController', workloads.defaultReplicationController],
  ['apps/Deployment', workloads.defaultDeployment],
  ['apps/ReplicaSet', workloads.defaultReplicaSet],
  ['apps/StatefulSet', workloads.defaultStatefulSet],
  ['apps/DaemonSet', workloads.defaultDaemonSet],
  ['batch/Job', workloads.defaultJob],
  ['batch/CronJob', workloads.defaultCronJob],
  ['autoscaling/v1/HorizontalPodAutoscaler', workloads.defaultAutoscalerV1],
  ['autoscaling/v2/HorizontalPodAutoscaler', workloads.defaultAutoscalerV2],
  ['networking.k8s.io/IngressClass', cluster.defaultIngressClass],
  ['networking.k8s.io/NetworkPolicy', cluster.defaultNetworkPolicy],
  [`${rbacGroup}/RoleBinding`, cluster.defaultBinding],
  [`${rbacGroup}/ClusterRoleBinding`, cluster.defaultBinding],
  ['discovery.k8s.io/EndpointSlice', cluster.defaultEndpointSlice],
  ['storage.k8s.io/StorageClass', cluster.defaultStorageClass],
  ['scheduling.k8s.io/PriorityClass', cluster.defaultPriorityClass],
  ['admissionregistration.k8s.io/ValidatingWebhookConfiguration', cluster.defaultWebhooks],
  ['admissionregistration.k8s.io/MutatingWebhookConfiguration', cluster.defaultWebhooks],
  ['apiextensions.k8s.io/CustomResourceDefinition', cluster.defaultCustomResourceDefinition],
  ['apiregistration.k8s.io/APIService', cluster.defaultApiService],
]);

function defaultWholePod(object: MutableJsonObject): void {
  const spec = childOrNew(object, 'spec');
  defaultPodSpec(spec);
  defaultPod(spec);
}

/** Allocatable resources default to the capacity until the kubelet reports them. */
function defaultNode(object: MutableJsonObject): void {
  const status = objectChild(object, 'status');
  const capacity = objectChild(status, 'capacity');
  if (status !== undefined && capacity !== undefined && objectChild(status, 'allocatable') === undefined)
    status['allocatable'] = { ...capacity };
  const spec = objectChild(object, 'spec');
  if (spec !== undefined) mirrorPodCidr(spec);
}

/** Keeps both fields in step: the single one wins over a list that begins otherwise. */
function mirrorPodCidr(spec: MutableJsonObject): void {
  const { podCIDR, podCIDRs } = spec;
  const first = Array.isArray(podCIDRs) ? podCIDRs[0] : undefined;
  if (typeof podCIDR === 'string' && podCIDR !== '' && podCIDR !== first) spec['podCIDRs'] = [podCIDR];
  else if (typeof first === 'string') spec['podCIDR'] = first;
}

/** The object with the defaults of its kind; the argument is not changed. Idempotent. */
export function withKindDefaults(kind: KindDefinition, object: KubeObject): KubeObject {
  const result = cloneJson(object) as unknown as MutableJsonObject;
  if (kind.custom) {
    if (kind.schema !== undefined) defaultCustom(kind.schema, result);
  } else {
    const defaulter =
      defaulters.get(`${kind.group}/${kind.kind}`) ?? defaulters.get(`${kind.group}/${kind.version}/${kind.kind}`);
    defaulter?.(result);
  }
  return result as unknown as KubeObject;
}
