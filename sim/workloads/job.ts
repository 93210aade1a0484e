import type { JsonObject } from '#base';
import type { KubeObject } from '#model';
import { create } from './engine.ts';
import type { World } from './engine.ts';
import {
  condition,
  conditionOf,
  isDeleting,
  isFinished,
  numberAt,
  owned,
  podFrom,
  specOf,
  statusOf,
  textAt,
} from './parts.ts';
import { nonZero } from './replicas.ts';

/** A Job runs pods until enough have succeeded, or too many have failed. */
export function reconcileJob(job: KubeObject, world: World): void {
  if (isDeleting(job)) return;
  if (conditionOf(job, 'Complete') !== undefined || conditionOf(job, 'Failed') !== undefined) {
    expire(job, world);
    return;
  }
  const spec = specOf(job);
  if (spec['suspend'] === true) {
    world.setStatus(job, {
      ...statusOf(job),
      conditions: [
        condition(
          job,
          { type: 'Suspended', status: 'True', reason: 'JobSuspended', message: 'Job suspended' },
          world.now(),
        ),
      ],
    });
    return;
  }
  const completions = numberAt(spec, 1, 'completions');
  const pods = owned(world.store, job, '', 'Pod');
  const succeeded = pods.filter((pod) => statusOf(pod)['phase'] === 'Succeeded').length;
  const failed = pods.filter((pod) => statusOf(pod)['phase'] === 'Failed').length;
  const active = pods.filter((pod) => !isFinished(pod) && !isDeleting(pod));
  const lost = failed > numberAt(spec, 6, 'backoffLimit');
  const wanted = lost ? 0 : Math.min(numberAt(spec, 1, 'parallelism'), completions - succeeded);
  for (let i = active.length; i < wanted; i += 1) active.push(create(world, jobPod(job, world)));
  world.setStatus(job, {
    startTime: statusOf(job)['startTime'] ?? world.now(),
    ready: active.filter((pod) => conditionOf(pod, 'Ready')?.['status'] === 'True').length,
    ...nonZero({ active: active.length, succeeded, failed }),
    ...outcome(job, { done: succeeded >= completions, lost }, world.now()),
  });
}

function jobPod(job: KubeObject, world: World): KubeObject {
  const name = `${job.metadata.name ?? ''}-${world.random.suffix(5)}`;
  return podFrom(job, name, {
    'batch.kubernetes.io/job-name': job.metadata.name ?? '',
    'job-name': job.metadata.name ?? '',
  });
}

function outcome(job: KubeObject, end: { readonly done: boolean; readonly lost: boolean }, now: string): JsonObject {
  if (end.done) {
    const message = 'Reached expected number of succeeded pods';
    const reached = { status: 'True', reason: 'CompletionsReached', message } as const;
    return {
      completionTime: now,
      conditions: [
        condition(job, { type: 'SuccessCriteriaMet', ...reached }, now, { lastProbeTime: now }),
        condition(job, { type: 'Complete', ...reached }, now, { lastProbeTime: now }),
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
      condition(job, { type: 'FailureTarget', ...failure }, now, { lastProbeTime: now }),
      condition(job, { type: 'Failed', ...failure }, now, { lastProbeTime: now }),
    ],
  };
}

function expire(job: KubeObject, world: World): void {
  const ttl = specOf(job)['ttlSecondsAfterFinished'];
  if (typeof ttl !== 'number') return;
  const ended = textAt(statusOf(job), 'completionTime') || textAt(conditionOf(job, 'Failed'), 'lastTransitionTime');
  const leftMs = Date.parse(ended) + 1000 * ttl - world.clock.now();
  if (leftMs > 0) world.again(job, leftMs);
  else
    world.store.delete('batch', 'Job', job.metadata.namespace ?? '', job.metadata.name ?? '', {
      propagationPolicy: 'Background',
    });
}
