import { finalizers, groupKindName, groupOf, isWorseHealth } from '#model';
import type { HealthStatus, HealthStatusCode, KubeObject, Settings } from '#model';
import {
  apiServiceHealth,
  autoscalerHealth,
  claimHealth,
  ingressHealth,
  serviceHealth,
  workflowHealth,
} from './network.ts';
import { podHealth } from './pod.ts';
import { HealthCheckError } from './read.ts';
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

/**
 * Health of one live object: being deleted, else the built-in check of its kind, else null (the kind has no check). A check that cannot
 * read the object gives Unknown with the reason, never an exception. Pure.
 *
 * Argo CD: gitops-engine/pkg/health/health.go GetResourceHealth. Difference: health scripts in `resource.customizations` are not run yet;
 * {@link unsupportedOverrides} names them so that the controller can say so.
 */
// eslint-disable-next-line @typescript-eslint/no-unused-vars -- the interface is agreed; scripts in overrides are not run yet
export function healthOf(object: KubeObject, _overrides: Settings['overrides']): HealthStatus | null {
  if (object.metadata.deletionTimestamp !== undefined && !hasHookFinalizer(object))
    return { status: 'Progressing', message: 'Pending deletion' };
  const check = checks.get(groupKindName({ group: groupOf(object.apiVersion), kind: object.kind }));
  if (check === undefined) return null;
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

/** Keys of `resource.customizations` whose health script is not run, sorted; their kinds keep the built-in check, or none. */
export function unsupportedOverrides(overrides: Settings['overrides']): readonly string[] {
  return Object.entries(overrides)
    .filter(([, override]) => (override.healthLua ?? '') !== '')
    .map(([key]) => key)
    .sort();
}
