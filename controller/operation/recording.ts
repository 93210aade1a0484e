import type { ManagedPair } from '#compare';
import { keyOf } from '#model';
import type { KubeObject, ResourceKey } from '#model';
import { changedWriter } from '#sync';
import type { ClusterWriter } from '#sync';
import type { OwnWrite } from '../comparison/contest.ts';

/** Makes the writer of a sync report its writes to managed objects, but not to hooks. */
export function recordingWriter(
  writer: ClusterWriter,
  pairs: readonly ManagedPair[],
  record: (write: Omit<OwnWrite, 'isSelfHeal' | 'at'>) => void,
): ClusterWriter {
  let managed: ReadonlyMap<ResourceKey, ManagedPair> | undefined;
  const written = (object: KubeObject, stored: KubeObject | null): void => {
    managed ??= new Map(pairs.filter(({ hook }) => !hook).map((pair) => [pair.key, pair]));
    const [pair, { uid }] = [managed.get(keyOf(object)), (stored ?? object).metadata];
    if (pair !== undefined && uid !== undefined) record({ key: pair.key, uid, stored, target: pair.target });
  };
  return changedWriter(writer, {
    delete: async (live, propagation, signal) => {
      const outcome = await writer.delete(live, propagation, signal);
      if (outcome === 'accepted') written(live, null);
      return outcome;
    },
    apply: async (target, live, how, signal) => {
      const result = await writer.apply(target, live, how, signal);
      written(live ?? result.object, result.object);
      return result;
    },
  });
}
