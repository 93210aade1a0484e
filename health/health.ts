import { finalizers, groupKindName, groupOf, isWorseHealth } from '#model';
import type { HealthStatus, HealthStatusCode, KubeObject, Settings } from '#model';
import { apiServiceHealth } from './api-service.ts';
import { autoscalerHealth } from './autoscaler.ts';
import { customCheck } from './custom/index.ts';
import { kstatus, wantsKstatus } from './kstatus.ts';
import { ingressHealth, serviceHealth } from './network.ts';
import { podHealth } from './pod.ts';
import { HealthCheckError } from './read.ts';
import { notRun } from './scripts.ts';
import { claimHealth } from './storage.ts';
import { workflowHealth } from './workflow.ts';
import { daemonSetHealth, deploymentHealth, jobHealth, replicaSetHealth, statefulSetHealth } from './workloads.ts';

const checks: ReadonlyMap<string, (object: KubeObject) => HealthStatus> = new Map([
  ['apps/Deployment', deploymentHealth],
  ['apps/ReplicaSet', replicaSetHealth],
  ['apps/StatefulSet', statefulSetHealth],
  ['apps/DaemonSet', daemonSetHealth],
  ['batch/Job', jobHealth],
  ['Pod', podHealth],
  ['Service', serviceHealth],
  ['PersistentVolumeClaim', claimHealth],
  ['extensions/Ingress', ingressHealth],
  ['networking.k8s.io/Ingress', ingressHealth],
  ['autoscaling/HorizontalPodAutoscaler', autoscalerHealth],
  ['apiregistration.k8s.io/APIService', apiServiceHealth],
  ['argoproj.io/Workflow', workflowHealth],
]);

/** The part of the settings that health depends on. */
export type HealthSettings = Pick<Settings, 'overrides' | 'healthScripts'>;

/**
 * Health of one live object, null for a kind without a check. In this order: being deleted; the administrator's Lua script of its kind
 * (`resource.customizations`, then the scripts of `--health-scripts`); our check of its custom kind; the built-in check of Kubernetes'
 * kinds; kstatus where the object asks for it by annotation. What cannot be read is Unknown with the reason, never an exception.
 *
 * Argo CD: gitops-engine/pkg/health/health.go GetResourceHealth, util/lua/lua.go. Difference: a script that returns nothing gives no
 * health here, where Argo CD has an empty status that a sync waits for without end.
 */
export function healthOf(object: KubeObject, settings: HealthSettings): HealthStatus | null {
  if (object.metadata.deletionTimestamp !== undefined && !hasHookFinalizer(object))
    return { status: 'Progressing', message: 'Pending deletion' };
  const group = groupOf(object.apiVersion);
  const { healthScripts } = settings;
  const scripted =
    healthScripts === undefined ? notRun(group, object.kind, settings.overrides) : healthScripts.run(group, object);
  if (scripted !== undefined) return scripted;
  const check = customCheck(group, object.kind) ?? checks.get(groupKindName({ group, kind: object.kind }));
  if (check === undefined) return wantsKstatus(object) ? kstatus(object) : null;
  try {
    return check(object);
  } catch (error) {
    if (error instanceof HealthCheckError) return { status: 'Unknown', message: error.message };
    throw error;
  }
}

/** A hook that waits for its own finalizer is judged by its outcome, not by being deleted. */
function hasHookFinalizer(object: KubeObject): boolean {
  return object.metadata.finalizers?.includes(finalizers.hook) ?? false;
}

/** The worst of some codes, Healthy for none (Argo CD: health.IsWorse over a list). */
export function worstHealth(codes: Iterable<HealthStatusCode>): HealthStatusCode {
  let worst: HealthStatusCode = 'Healthy';
  for (const code of codes) if (isWorseHealth(worst, code)) worst = code;
  return worst;
}
