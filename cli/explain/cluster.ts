import { counted, joined, objectText, RelativeTimes, shortDuration } from '../../api/words/index.ts';
import type { ClusterKind, ClusterOwner, ClusterResponse, Explanation, HandOver, Verdict } from '#api';

const maxKinds = 8;
const maxHandOvers = 5;
const maxNoisy = 3;

/** Explains one cluster: owners, kinds that are not synced, objects that change most. */
export function explainCluster({ server, names, owners, handOvers, time, incomplete }: ClusterResponse): Explanation {
  const times = new RelativeTimes(time);
  const [verdict, reason] = verdictOf(owners, handOvers, times);
  return {
    verdict,
    title: `Cluster ${joined([names.join(', '), server], ' · ')}`,
    ...(reason === undefined ? {} : { reason }),
    sections: [
      { label: 'Owner', lines: owners.map((owner) => ownerLine(owner)) },
      { label: 'State', lines: owners.flatMap((owner) => stateLines(owner, times)) },
      { label: 'Kinds', lines: owners.flatMap(({ watched }) => kindLines(watched, times)) },
      { label: 'Noisiest', lines: owners.flatMap(noisyLines) },
      { label: 'Hand-overs', lines: handOvers.slice(0, maxHandOvers).map((move) => handOverLine(move, times)) },
      { label: 'Incomplete', lines: incomplete.map(({ replica, reason: why }) => `${replica}: ${why}`) },
    ],
  };
}

function verdictOf(
  owners: readonly ClusterOwner[],
  [lastMove]: readonly HandOver[],
  times: RelativeTimes,
): readonly [Verdict, string | undefined] {
  if (owners.length === 0)
    return ['broken', joined(['no replica owns it', lastMove && handOverLine(lastMove, times)], '; ')];
  const failed = owners.find(({ state }) => state === 'failed');
  if (failed !== undefined) return ['broken', failed.message ?? `${failed.replica} cannot reach it`];
  const broken = owners
    .flatMap(({ watched }) => watched)
    .find(({ state }) => state === 'degraded' || state === 'forbidden');
  if (broken !== undefined) return ['broken', kindText(broken, times)];
  const connecting = owners.find(({ state }) => state === 'connecting');
  return connecting === undefined ? ['healthy', undefined] : ['waiting', `${connecting.replica} fills its cache`];
}

function ownerLine({ replica, applications, eventsPerSecond }: ClusterOwner): string {
  return joined([replica, counted(applications, 'Application'), `${eventsPerSecond.toFixed(1)} live events a second`]);
}

function stateLines(owner: ClusterOwner, times: RelativeTimes): readonly string[] {
  const { state, message, serverVersion, lastSyncAt, objects, kinds, silentMs } = owner;
  return [
    joined([
      state,
      serverVersion,
      `${counted(objects, 'object')} of ${counted(kinds, 'kind')}`,
      lastSyncAt === undefined ? undefined : `discovered ${times.ago(lastSyncAt) ?? ''}`,
      silentMs === undefined ? undefined : `last heard of ${shortDuration(silentMs)} ago`,
    ]),
    ...(message === undefined ? [] : [message]),
  ];
}

function kindLines(watched: readonly ClusterKind[], times: RelativeTimes): readonly string[] {
  const unsynced = watched.filter(({ state }) => state !== 'synced');
  const more = unsynced.length - maxKinds;
  return [
    ...unsynced.slice(0, maxKinds).map((kind) => kindText(kind, times)),
    ...(more > 0 ? [`… and ${more} more: -o json has all`] : []),
  ];
}

function kindText({ group, kind, state, message, since }: ClusterKind, times: RelativeTimes): string {
  return joined([`${joined([kind, group], '.')} is ${state}`, times.since(since), message]);
}

function noisyLines({ noisiest }: ClusterOwner): readonly string[] {
  return noisiest.slice(0, maxNoisy).map((object) => `${objectText(object)}: ${object.changes} changes held back`);
}

function handOverLine({ at, part, from, to, message }: HandOver, times: RelativeTimes): string {
  const move = `${from === undefined ? 'none' : `shard ${from}`} → ${to === undefined ? 'none' : `shard ${to}`}`;
  return joined([times.ago(at), part === 0 ? undefined : `part ${part}`, move, message]);
}
