import { counted, joined, RelativeTimes, shortDuration } from '../../api/words/index.ts';
import type { Explanation, Queue, QueuesResponse, ReplicaInfo, ReplicaResponse, Verdict } from '#api';

const maxClusters = 10;
const mebibyte = 1024 * 1024;

/** Explains one replica: its shard and clusters, its queues, what is degraded. */
export function explainReplica(
  { items, time }: ReplicaResponse,
  queues: QueuesResponse,
  name: string,
): Explanation | undefined {
  const replica = items.find((item) => item.name === name);
  if (replica === undefined) return undefined;
  const times = new RelativeTimes(time);
  const own = queues.items.filter((queue) => queue.replica === name);
  const [verdict, reason] = verdictOf(replica, own);
  return {
    verdict,
    title: joined(
      [`Replica ${name}`, replica.shard === undefined ? 'standby' : `shard ${replica.shard}`, replica.version],
      ' · ',
    ),
    ...(reason === undefined ? {} : { reason }),
    sections: [
      { label: 'Process', lines: [processLine(replica, times)] },
      { label: 'Owns', lines: ownsLines(replica) },
      { label: 'Queues', lines: own.map((queue) => queueLine(queue, times)) },
      {
        label: 'Degraded',
        lines: replica.degraded.map(({ subject, message, advice }) => `${subject}: ${message}; ${advice}`),
      },
    ],
  };
}

function verdictOf(replica: ReplicaInfo, queues: readonly Queue[]): readonly [Verdict, string | undefined] {
  const stalled = queues.find((queue) => queue.stalled !== undefined);
  if (stalled !== undefined) return ['broken', `${stalled.name}: ${stalled.stalled ?? ''}`];
  const [degraded] = replica.degraded;
  if (degraded !== undefined) return ['broken', `${degraded.subject}: ${degraded.message}`];
  if (!replica.ready) return ['waiting', replica.reason ?? 'it is not ready'];
  return ['healthy', undefined];
}

function processLine(
  { startedAt, cpuMs, heapBytes, heapLimitBytes, rssBytes, eventLoopDelayMs }: ReplicaInfo,
  times: RelativeTimes,
): string {
  const megabytes = (bytes: number): string => `${Math.round(bytes / mebibyte)} MiB`;
  return joined([
    `started ${times.ago(startedAt) ?? ''}`,
    `CPU ${shortDuration(cpuMs)}`,
    `heap ${megabytes(heapBytes)} of ${megabytes(heapLimitBytes)}`,
    `RSS ${megabytes(rssBytes)}`,
    eventLoopDelayMs === undefined ? undefined : `event loop p99 ${shortDuration(eventLoopDelayMs)}`,
  ]);
}

function ownsLines({ applications, clusters }: ReplicaInfo): readonly string[] {
  const more = clusters.length - maxClusters;
  return [
    `${counted(applications, 'Application')} on ${counted(clusters.length, 'cluster')}`,
    ...clusters.slice(0, maxClusters),
    ...(more > 0 ? [`… and ${more} more: -o json has all`] : []),
  ];
}

function queueLine({ name, running, workers, depth, delayed, oldest }: Queue, times: RelativeTimes): string {
  return joined([
    `${name}: ${running} of ${counted(workers, 'worker')} busy, ${depth} due, ${delayed} later`,
    oldest === undefined ? undefined : `oldest ${oldest.key} ${times.lasting(oldest.since) ?? ''}`,
  ]);
}
