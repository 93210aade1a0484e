import { defined } from '#base';
import { isForeign } from '#sharding';
import type { HandOver as SeenHandOver, HandOverReason as SeenReason } from '#sharding';
import type { ReplicaFacts } from '../facts.ts';
import type { HandOver, HandOverReason, OwnedCluster, OwnershipCondition, OwnershipResponse, Slot } from '../types.ts';
import { optionalTime, wireTime } from './format.ts';

const hourMs = 3_600_000;

type OwnershipPage = Omit<OwnershipResponse, 'apiVersion' | 'kind' | 'time' | 'replica' | 'incomplete'>;

export function ownershipPage(facts: ReplicaFacts): OwnershipPage {
  const { epoch, epochSince, algorithm, shards, holders, entries, unowned } = facts.ownership.facts();
  const now = facts.clock.now();
  const numbers = new Set([...Array.from({ length: shards }, (_, i) => i), ...holders.keys()]);
  const clusters = [...entries].map(([server, { names, shards: owners, homes, waits }]): OwnedCluster => {
    const missing = unowned.get(server);
    return {
      server,
      names,
      parts: owners.map((slot, part) => ({
        part,
        slot,
        home: homes[part] ?? slot,
        waitsFor: (waits[part] ?? []).map((wait) => wait.slot),
        ...defined({ owner: holders.get(slot)?.holder }),
      })),
      ...(missing === undefined ? {} : { unownedSince: wireTime(now - missing) }),
    };
  });
  return {
    ...defined({ epoch, epochSince: optionalTime(epochSince) }),
    algorithm,
    shards,
    slots: [...numbers].sort((a, b) => a - b).map((slot) => slotOf(facts, slot)),
    clusters: clusters.sort((a, b) => (a.server < b.server ? -1 : 1)),
    handOvers: handOvers(facts),
    conditions: ownConditions(facts),
  };
}

export function ownConditions({ ownership, name }: ReplicaFacts): readonly OwnershipCondition[] {
  return ownership
    .conditions()
    .map(({ type, message, since }) => ({ replica: name, type, message, since: wireTime(since) }));
}

function slotOf({ ownership }: ReplicaFacts, slot: number): Slot {
  const record = ownership.facts().holders.get(slot);
  if (record === undefined) return { slot, acknowledgedEpoch: 0, isForeign: false, hasAddress: false };
  return {
    slot,
    holder: record.holder,
    renewedAt: wireTime(record.heartbeat),
    acknowledgedEpoch: record.acked,
    isForeign: isForeign(record),
    hasAddress: record.api !== undefined,
    ...defined({ leaseMs: record.leaseMs }),
  };
}

const reasons: Readonly<Record<SeenReason, { readonly reason: HandOverReason; readonly text: string }>> = {
  new: { reason: 'first-assignment', text: 'the cluster is new' },
  scale: { reason: 'replicas-changed', text: 'the number of replicas changed' },
  split: { reason: 'split-changed', text: 'the number of its parts changed' },
  'stand-in': { reason: 'stand-in', text: 'the replica of its home shard is absent' },
  home: { reason: 'returned-home', text: 'the replica of its home shard is back' },
  balance: { reason: 'rebalanced', text: 'the algorithm assigns it anew, or load is balanced' },
  removed: { reason: 'cluster-removed', text: 'the cluster was removed' },
};

/** The newest first, at most an hour old. */
export function handOvers({ ownership, clock }: ReplicaFacts): readonly HandOver[] {
  const oldest = clock.now() - hourMs;
  return ownership.facts().handOvers.flatMap((seen) => (seen.at < oldest ? [] : [handOverOf(seen)]));
}

function handOverOf({ at, server, part, from, to, epoch, reason: seen }: SeenHandOver): HandOver {
  const { reason, text } = reasons[seen];
  const [left, right] = [from ?? 'none', to ?? 'none'];
  const message = `part ${part} of ${server} from shard ${left} to shard ${right} in epoch ${epoch}: ${text}`;
  return { at: wireTime(at), server, part, epoch, reason, message, ...defined({ from, to }) };
}
