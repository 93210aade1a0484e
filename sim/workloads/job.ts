import type { JsonObject } from '#base';
import type { KubeObject } from '#model';
import { createObject } from './engine.ts';
import type { ReconcilerContext } from './engine.ts';
import {
  conditionFor,
  conditionOf,
  isDeleting,
  isFinished,
  numberIn,
  ownedObjects,
  podFrom,
  specObjectOf,
  statusObjectOf,
  textIn,
} from './parts.ts';
import { nonZero } from './replicas.ts';

/** A Job runs pods until enough have succeeded, or too many have failed. */
export function reconcileJob(job: KubeObject, context: ReconcilerContext): void {
  if (isDeleting(job)) return;
  if (conditionOf(job, 'Complete') !== undefined || conditionOf(job, 'Failed') !== undefined) {
    deleteExpired(job, context);
    return;
  }
  const spec = specObjectOf(job);
  if (spec['suspend'] === true) {
    context.setStatus(job, {
      ...statusObjectOf(job),
      conditions: [
        conditionFor(
          job,
          { type: 'Suspended', status: 'True', reason: 'JobSuspended', message: 'Job suspended' },
          context.now(),
        ),
      ],
    });
    return;
  }
  const completions = numberIn(spec, 1, 'completions');
  const pods = ownedObjects(context.store, job, '', 'Pod');
  const succeeded = pods.filter((pod) => statusObjectOf(pod)['phase'] === 'Succeeded').length;
  const failed = pods.filter((pod) => statusObjectOf(pod)['phase'] === 'Failed').length;
  const active = pods.filter((pod) => !isFinished(pod) && !isDeleting(pod));
  const lost = failed > numberIn(spec, 6, 'backoffLimit');
  const wanted = lost ? 0 : Math.min(numberIn(spec, 1, 'parallelism'), completions - succeeded);
  for (let i = active.length; i < wanted; i += 1) active.push(createObject(context, jobPod(job, context)));
  context.setStatus(job, {
    startTime: statusObjectOf(job)['startTime'] ?? context.now(),
    ready: active.filter((pod) => conditionOf(pod, 'Ready')?.['status'] === 'True').length,
    ...nonZero({ active: active.length, succeeded, failed }),
    ...jobOutcome(job, { done: succeeded >= completions, lost }, context.now()),
  });
}

function jobPod(job: KubeObject, context: ReconcilerContext): KubeObject {
  const name = `${job.metadata.name ?? ''}-${context.random.suffix(5)}`;
  return podFrom(job, name, {
    'batch.kubernetes.io/job-name': job.metadata.name ?? '',
    'job-name': job.metadata.name ?? '',
  });
}

function jobOutcome(job: KubeObject, end: { readonly done: boolean; readonly lost: boolean }, now: string): JsonObject {
  if (end.done) {
    const message = 'Reached expected number of succeeded pods';
    const reached = { status: 'True', reason: 'CompletionsReached', message } as const;
    return {
      completionTime: now,
      conditions: [
        conditionFor(job, { type: 'SuccessCriteriaMet', ...reached }, now, { lastProbeTime: now }),
        conditionFor(job, { type: 'Complete', ...reached }, now, { lastProbeTime: now }),
      ],
    };
  }
  if (!end.lost) return {};
  const failure = {
    status: 'True',
    reason: 'BackoffLimitExceeded',
    message: 'Job has reached the specified backoff limit',
  } as const;
  return {
    conditions: [
      conditionFor(job, { type: 'FailureTarget', ...failure }, now, { lastProbeTime: now }),
      conditionFor(job, { type: 'Failed', ...failure }, now, { lastProbeTime: now }),
    ],
  };
}

function deleteExpired(job: KubeObject, context: ReconcilerContext): void {
  const ttl = specObjectOf(job)['ttlSecondsAfterFinished'];
  if (typeof ttl !== 'number') return;
  const ended =
    textIn(statusObjectOf(job), 'completionTime') || textIn(conditionOf(job, 'Failed'), 'lastTransitionTime');
  const leftMs = Date.parse(ended) + 1000 * ttl - context.clock.now();
  if (leftMs > 0) context.again(job, leftMs);
  else
    context.store.delete('batch', 'Job', job.metadata.namespace ?? '', job.metadata.name ?? '', {
      propagationPolicy: 'Background',
    });
}
