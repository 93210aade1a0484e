import type { HealthStatus, KubeObject } from '#model';
import { outcome } from './custom/form.ts';
import { View } from './custom/view.ts';

const name = 'driftless.io/health';

/** An object of a kind without a check may ask to be judged by the conventions: annotation `driftless.io/health: kstatus`. */
export function wantsKstatus(object: KubeObject): boolean {
  return object.metadata.annotations?.[name] === 'kstatus';
}

/**
 * The general rules of kstatus (sigs.k8s.io/cli-utils/pkg/kstatus/README.md): a generation that is not observed, Reconciling and Stalled
 * with their meaning by convention, then Ready or Available. An object that says nothing of this kind counts as current.
 */
export function kstatus(object: KubeObject): HealthStatus {
  const view = new View(object);
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
