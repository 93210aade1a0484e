import type { AppKey, Cluster } from '#model';
import { clusterKey } from '../parts.ts';
import { unresolvedDestination } from '../table-document.ts';
import type { Fleet, Replica } from './scenario.ts';

/**
 * After peace: every part, and every Application of a known cluster or without one, has exactly one owner. Returns what has not.
 */
export function unkeptPromise(
  fleet: Pick<Fleet, 'replicas' | 'instant' | 'writesFor'>,
  clusters: Iterable<Cluster>,
  apps: Iterable<AppKey>,
): string | undefined {
  const alive = fleet.replicas.filter((replica) => replica.alive && !replica.leaving);
  const table = alive.map(({ member }) => member.table()).find((each) => each !== undefined);
  if (table === undefined) return 'nobody obeys a table';
  const owners = (server: string, part: number): readonly Replica[] =>
    alive.filter((replica) => replica.member.mayWrite(server, part, fleet.instant(replica)));
  for (const server of [unresolvedDestination, ...[...clusters].map((cluster) => clusterKey(cluster.server))]) {
    const parts = table.entries.get(server)?.shards.length ?? 0;
    if (parts === 0) return `${server} is not on the table`;
    for (let part = 0; part < parts; part += 1) {
      const count = owners(server, part).length;
      if (count !== 1) return `part ${part} of "${server}" has ${count} owners`;
    }
  }
  for (const key of apps) {
    const writers = alive.filter((replica) => fleet.writesFor(replica, key) !== undefined);
    if (writers.length !== 1) return `${key} has ${writers.length} writers`;
  }
  return undefined;
}
