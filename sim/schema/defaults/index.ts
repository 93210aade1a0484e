import { cloneJson } from '#base';
import type { MutableJsonObject } from '#base';
import type { KubeObject } from '#model';
import type { KindDefinition } from '../../types.ts';
import * as cluster from './cluster.ts';
import { defaultCustom } from './custom.ts';
import { child, childOrNew } from './fill.ts';
import { defaultPod, defaultPodSpec, defaultPodTemplate } from './pod.ts';
import * as workloads from './workloads.ts';

type Defaulter = (object: MutableJsonObject) => void;

const rbac = 'rbac.authorization.k8s.io';
/** By "group/Kind", or "group/version/Kind" where versions differ. Kinds that are missing have no defaults. */
const defaulters: ReadonlyMap<string, Defaulter> = new Map<string, Defaulter>([
  ['/Pod', pod],
  ['/PodTemplate', (object) => defaultPodTemplate(object)],
  ['/Service', cluster.service],
  ['/Secret', cluster.secret],
  ['/Namespace', cluster.namespace],
  ['/Node', node],
  ['/PersistentVolume', cluster.persistentVolume],
  ['/PersistentVolumeClaim', workloads.persistentVolumeClaim],
  ['/Endpoints', cluster.endpoints],
  ['/LimitRange', cluster.limitRange],
  ['/ReplicationController', workloads.replicationController],
  ['apps/Deployment', workloads.deployment],
  ['apps/ReplicaSet', workloads.replicaSet],
  ['apps/StatefulSet', workloads.statefulSet],
  ['apps/DaemonSet', workloads.daemonSet],
  ['batch/Job', workloads.job],
  ['batch/CronJob', workloads.cronJob],
  ['autoscaling/v1/HorizontalPodAutoscaler', workloads.autoscalerV1],
  ['autoscaling/v2/HorizontalPodAutoscaler', workloads.autoscalerV2],
  ['networking.k8s.io/IngressClass', cluster.ingressClass],
  ['networking.k8s.io/NetworkPolicy', cluster.networkPolicy],
  [`${rbac}/RoleBinding`, cluster.binding],
  [`${rbac}/ClusterRoleBinding`, cluster.binding],
  ['discovery.k8s.io/EndpointSlice', cluster.endpointSlice],
  ['storage.k8s.io/StorageClass', cluster.storageClass],
  ['scheduling.k8s.io/PriorityClass', cluster.priorityClass],
  ['admissionregistration.k8s.io/ValidatingWebhookConfiguration', cluster.webhooks],
  ['admissionregistration.k8s.io/MutatingWebhookConfiguration', cluster.webhooks],
  ['apiextensions.k8s.io/CustomResourceDefinition', cluster.customResourceDefinition],
  ['apiregistration.k8s.io/APIService', cluster.apiService],
]);

function pod(object: MutableJsonObject): void {
  const spec = childOrNew(object, 'spec');
  defaultPodSpec(spec);
  defaultPod(spec);
}

/** What a node can give away is what it has, until its kubelet says otherwise. */
function node(object: MutableJsonObject): void {
  const status = child(object, 'status');
  const capacity = child(status, 'capacity');
  if (status !== undefined && capacity !== undefined && child(status, 'allocatable') === undefined)
    status['allocatable'] = { ...capacity };
}

/** The object with the defaults of its kind; the argument is not changed. Idempotent. */
export function withDefaults(kind: KindDefinition, object: KubeObject): KubeObject {
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
