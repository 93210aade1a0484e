import { defined } from '#base';
import { stallOf } from '#controller';
import type { ReportedPool } from '#controller';
import type { ReplicaFacts } from '../facts.ts';
import type { Queue, QueueItem, QueuePriority, QueueRate } from '../types.ts';
import { wireTime } from './format.ts';

export function queuePage(facts: ReplicaFacts): readonly Queue[] {
  return facts.controller.pools().map((pool) => queueOf(facts, pool));
}

type Item = ReturnType<ReportedPool['contents']>['inProgress'][number];

function queueOf({ name: replica, clock }: ReplicaFacts, pool: ReportedPool): Queue {
  const [now, monotonic] = [clock.now(), clock.monotonic()];
  const { workers, running, waiting, takenTotal, sinceTakenMs } = pool.progress();
  const { depthByPriority, oldest, inProgress } = pool.contents();
  const item = ({ key, since, priority, payload }: Item): QueueItem => ({
    key,
    since: wireTime(now - (monotonic - since)),
    priority,
    ...defined({ reason: payload?.reason }),
  });
  return {
    replica,
    name: pool.name,
    workers,
    running,
    depth: waiting,
    depthByPriority,
    delayed: pool.delayed(),
    inProgress: inProgress.map(item),
    takenTotal,
    lastTakenAt: wireTime(now - sinceTakenMs),
    rates: ratesOf(pool, monotonic),
    ...defined({ oldest: oldest === undefined ? undefined : item(oldest), stalled: stallOf(pool) }),
  };
}

function ratesOf({ rates }: ReportedPool, now: number): readonly QueueRate[] {
  const minutes = Math.max(1, rates.coveredMs(now) / 60_000);
  const found = [...rates.rows(now)].map(([key, { taken }]) => {
    const [priority = 'live', reason = 'other'] = key.split(' ');
    const perMinute = Math.round((taken / minutes) * 100) / 100;
    return { priority: priority as QueuePriority, reason, perMinute, total: taken };
  });
  return found.sort((a, b) => b.total - a.total);
}
