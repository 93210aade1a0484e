import { parseTable, tableConfigMap } from '../documents/table-document.ts';
import type { TableDocument } from '../documents/table-document.ts';
import { clusterKey } from '../distribution/parts.ts';
import type { SimulatedFleet } from './scenario.ts';
import type { SimulatedHub } from './simulated-hub.ts';

/**
 * Checks after the faults that every part and every Application has exactly one owner; returns a
 * violation.
 */
export function unkeptPromise(fleet: SimulatedFleet, hub: SimulatedHub): string | undefined {
  const alive = fleet.replicas.filter((replica) => replica.alive && !replica.leaving);
  const table = tableOf(hub);
  if (table === undefined) return 'there is no table';
  const servers = [...fleet.clusters.values()].map((cluster) => clusterKey(cluster.server));
  for (const server of new Set(servers)) {
    const parts = table.entries.get(server)?.shards.length ?? 0;
    if (parts === 0) return `${server} is not in the table`;
    const owned = alive.flatMap(({ ownership }) => ownership.ownedParts(server)?.owned ?? []).sort((a, b) => a - b);
    if (owned.length !== parts || owned.some((part, i) => part !== i))
      return `owned parts of ${server} (${parts} in total): ${owned.join()}`;
  }
  for (const key of fleet.apps.keys()) {
    const writers = alive.filter((replica) => fleet.writesFor(replica, key) !== undefined);
    if (writers.length !== 1) return `${key} has ${writers.length} writers`;
  }
  return undefined;
}

function tableOf(hub: SimulatedHub): TableDocument | undefined {
  const object = hub.get('ConfigMap', tableConfigMap);
  const found = object === undefined ? undefined : parseTable(object as Parameters<typeof parseTable>[0]);
  return found?.state === 'ok' ? found.value : undefined;
}
