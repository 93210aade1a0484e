import { finalizers, groupKindName, groupOf, isWorseHealth } from '#model';
import type { HealthStatus, HealthStatusCode, KubeObject, Settings } from '#model';
import { apiServiceHealth } from './api-service.ts';
import { autoscalerHealth } from './autoscaler.ts';
import { customCheck } from './custom/index.ts';
import { kstatus, wantsKstatus } from './kstatus.ts';
import { ingressHealth, serviceHealth } from './network.ts';
import { podHealth } from './pod.ts';
import { HealthCheckError } from './read.ts';
import { statusWithoutEngine } from './scripts.ts';
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
 * Health of one live object; null for a kind without a check. Checks in this order: deletion; the
 * administrator's Lua script of the kind (`resource.customizations`, then `--health-scripts`); our
 * check of the custom kind; the built-in check; kstatus if an annotation requests it. An unreadable
 * object is Unknown with the reason; this never throws.
 *
 * Argo CD: gitops-engine/pkg/health/health.go GetResourceHealth, util/lua/lua.go. Difference: a
 * script that returns nothing yields no health; in Argo CD an empty status, on which a sync hangs.
 */
export function healthOf(object: KubeObject, settings: HealthSettings): HealthStatus | null {
  if (object.metadata.deletionTimestamp !== undefined && !hasHookFinalizer(object))
    return { status: 'Progressing', message: 'Pending deletion' };
  const group = groupOf(object.apiVersion);
  const { healthScripts } = settings;
  const scripted =
    healthScripts === undefined
      ? statusWithoutEngine(group, object.kind, settings.overrides)
      : healthScripts.run(group, object);
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

/** A hook held by its own finalizer is judged by its outcome, not as being deleted. */
function hasHookFinalizer(object: KubeObject): boolean {
  const held: unknown = object.metadata.finalizers;
  return Array.isArray(held) && held.includes(finalizers.hook);
}

/** The worst of the codes, Healthy if there are none (Argo CD: health.IsWorse over a list). */
export function worstHealth(codes: Iterable<HealthStatusCode>): HealthStatusCode {
  let worst: HealthStatusCode = 'Healthy';
  for (const code of codes) if (isWorseHealth(worst, code)) worst = code;
  return worst;
}
