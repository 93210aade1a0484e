import type { HealthStatus, KubeObject } from '#model';
import { outcome } from './custom/rules/check.ts';
import { ObjectView } from './custom/rules/view.ts';

const healthAnnotation = 'driftless.io/health';

/**
 * The annotation `driftless.io/health: kstatus` requests judgement by convention for a kind without
 * a check.
 */
export function wantsKstatus(object: KubeObject): boolean {
  return object.metadata.annotations?.[healthAnnotation] === 'kstatus';
}

/**
 * General rules of kstatus (sigs.k8s.io/cli-utils/pkg/kstatus/README.md): an unobserved generation,
 * then Reconciling and Stalled with their conventional meaning, then Ready or Available. An object
 * with none of these is current.
 */
export function kstatus(object: KubeObject): HealthStatus {
  const view = new ObjectView(object);
  const seen = view.number('status.observedGeneration');
  if (seen !== undefined && (view.generation ?? 0) > seen)
    return outcome('Progressing', `Waiting for generation ${view.generation} to be observed (now ${seen})`);
  const stalled = view.condition('Stalled');
  if (stalled?.status === 'True') return outcome('Degraded', stalled.message);
  const reconciling = view.condition('Reconciling');
  if (reconciling?.status === 'True') return outcome('Progressing', reconciling.message);
  const ready = view.condition('Ready') ?? view.condition('Available');
  if (ready === undefined || ready.status === 'True') return outcome('Healthy', ready?.message);
  return outcome('Progressing', ready.message);
}
