import type { JsonObject } from '#base';
import type { KubeObject } from '#model';
import type { FieldError, KindDefinition } from '../../types.ts';
import * as cluster from './cluster.ts';
import * as core from './core.ts';
import { validateCustom } from './custom.ts';
import { validateEnums } from './enums.ts';
import { validatePodTemplate } from './pod.ts';
import { FieldErrorReport } from './report.ts';
import * as workloads from './workloads.ts';

type KindRule = (report: FieldErrorReport, object: JsonObject, old: JsonObject | undefined) => void;

const rbacGroup = 'rbac.authorization.k8s.io';
/** By "group/Kind". Other kinds have only the rules of their type table. */
const kindRules: ReadonlyMap<string, KindRule> = new Map<string, KindRule>([
  ['/Pod', core.validatePod],
  ['/PodTemplate', (report, object) => validatePodTemplate(report, object['template'], 'template')],
  ['/Node', core.validateNode],
  ['/Service', core.validateService],
  ['/ConfigMap', core.validateConfigMap],
  ['/Secret', core.validateSecret],
  ['/PersistentVolumeClaim', core.validatePersistentVolumeClaim],
  ['/PersistentVolume', core.validatePersistentVolume],
  ['/ReplicationController', workloads.validateReplicationController],
  ['apps/Deployment', workloads.validateDeployment],
  ['apps/ReplicaSet', workloads.validateReplicaSet],
  ['apps/StatefulSet', workloads.validateStatefulSet],
  ['apps/DaemonSet', workloads.validateDaemonSet],
  ['batch/Job', workloads.validateJob],
  ['batch/CronJob', workloads.validateCronJob],
  ['autoscaling/HorizontalPodAutoscaler', workloads.validateAutoscaler],
  ['policy/PodDisruptionBudget', workloads.validateDisruptionBudget],
  ['networking.k8s.io/Ingress', cluster.validateIngress],
  ['networking.k8s.io/IngressClass', cluster.validateIngressClass],
  ['networking.k8s.io/NetworkPolicy', cluster.validateNetworkPolicy],
  [`${rbacGroup}/Role`, cluster.validateRole],
  [`${rbacGroup}/ClusterRole`, cluster.validateRole],
  [`${rbacGroup}/RoleBinding`, cluster.validateBinding],
  [`${rbacGroup}/ClusterRoleBinding`, cluster.validateBinding],
  ['storage.k8s.io/StorageClass', cluster.validateStorageClass],
  ['scheduling.k8s.io/PriorityClass', cluster.validatePriorityClass],
  ['coordination.k8s.io/Lease', cluster.validateLease],
  ['discovery.k8s.io/EndpointSlice', cluster.validateEndpointSlice],
]);

/**
 * Errors of a decoded object with its defaults. Does not check the object's own metadata: its rules
 * are the same for every kind and part of the server.
 */
export function validateObject(
  kind: KindDefinition,
  object: KubeObject,
  old: KubeObject | undefined,
): readonly FieldError[] {
  const report = new FieldErrorReport();
  const value = object as JsonObject;
  if (kind.custom) {
    if (kind.schema !== undefined) validateCustom(report, kind.schema, value);
    return report.errors;
  }
  kindRules.get(`${kind.group}/${kind.kind}`)?.(report, value, old as JsonObject | undefined);
  if (kind.schema !== undefined) validateEnums(report, kind.schema, value);
  return report.errors;
}
