import type { JsonObject } from '#base';
import type { KubeObject } from '#model';
import type { FieldError, KindDefinition } from '../../types.ts';
import * as cluster from './cluster.ts';
import * as core from './core.ts';
import { validateCustom } from './custom.ts';
import { validateEnums } from './enums.ts';
import { validatePodTemplate } from './pod.ts';
import { Report } from './report.ts';
import * as workloads from './workloads.ts';

type Rule = (report: Report, object: JsonObject, old: JsonObject | undefined) => void;

const rbac = 'rbac.authorization.k8s.io';
/** By "group/Kind". Kinds that are missing have only the rules of their type table. */
const rules: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ['/Pod', core.pod],
  ['/PodTemplate', (report, object) => validatePodTemplate(report, object['template'], 'template')],
  ['/Service', core.service],
  ['/ConfigMap', core.configMap],
  ['/Secret', core.secret],
  ['/PersistentVolumeClaim', core.persistentVolumeClaim],
  ['/PersistentVolume', core.persistentVolume],
  ['/ReplicationController', workloads.replicationController],
  ['apps/Deployment', workloads.deployment],
  ['apps/ReplicaSet', workloads.replicaSet],
  ['apps/StatefulSet', workloads.statefulSet],
  ['apps/DaemonSet', workloads.daemonSet],
  ['batch/Job', workloads.job],
  ['batch/CronJob', workloads.cronJob],
  ['autoscaling/HorizontalPodAutoscaler', workloads.autoscaler],
  ['policy/PodDisruptionBudget', workloads.disruptionBudget],
  ['networking.k8s.io/Ingress', cluster.ingress],
  ['networking.k8s.io/IngressClass', cluster.ingressClass],
  ['networking.k8s.io/NetworkPolicy', cluster.networkPolicy],
  [`${rbac}/Role`, cluster.role],
  [`${rbac}/ClusterRole`, cluster.role],
  [`${rbac}/RoleBinding`, cluster.binding],
  [`${rbac}/ClusterRoleBinding`, cluster.binding],
  ['storage.k8s.io/StorageClass', cluster.storageClass],
  ['scheduling.k8s.io/PriorityClass', cluster.priorityClass],
  ['coordination.k8s.io/Lease', cluster.lease],
  ['discovery.k8s.io/EndpointSlice', cluster.endpointSlice],
]);

/**
 * Problems of an object that decodes and has its defaults. The object's own metadata is not looked at here: its rules are the same for every
 * kind and belong to the server.
 */
export function validateObject(
  kind: KindDefinition,
  object: KubeObject,
  old: KubeObject | undefined,
): readonly FieldError[] {
  const report = new Report();
  const value = object as JsonObject;
  if (kind.custom) {
    if (kind.schema !== undefined) validateCustom(report, kind.schema, value);
    return report.errors;
  }
  rules.get(`${kind.group}/${kind.kind}`)?.(report, value, old as JsonObject | undefined);
  if (kind.schema !== undefined) validateEnums(report, kind.schema, value);
  return report.errors;
}
