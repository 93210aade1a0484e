import { rankClusters } from '../distribution/distribution.ts';
import type { ShardedCluster, ShardingAlgorithm } from '../distribution/distribution.ts';
import { clusterDigest, clusterKey, isFinerSplit, partKey } from '../distribution/parts.ts';
import { rebalance } from '../distribution/rebalance.ts';
import { candidatesOf } from './offers.ts';
import type { ClusterOffers } from './offers.ts';
import { epochAfterLoss, nextEpoch } from '../documents/bounds.ts';
import { unresolvedDestination, unresolvedParts } from '../documents/table-document.ts';
import type { TableDocument, TableEntry, ReleaseWait } from '../documents/table-document.ts';

/** Inputs of a table as this replica sees them. */
export interface PlanInputs {
  readonly algorithm: ShardingAlgorithm;
  readonly clusters: readonly (ShardedCluster & { readonly name: string })[];
  /** By part. */
  readonly weights: ReadonlyMap<string, number>;
}

export interface PlanContext {
  readonly replicas: number;
  /** Reports whether the holder of a slot has acknowledged an epoch, or is gone. */
  readonly settled: (wait: ReleaseWait) => boolean;
  /** Slots with any holder. */
  readonly holders: readonly number[];
  /** Slots whose holders were seen alive lately. */
  readonly live: readonly number[];
  /** Slots without a holder for too long: others stand in for them. */
  readonly absent: ReadonlySet<number>;
  /**
   * Reports whether a holder may take over a part from another holder, because its caches are
   * filled. `isAnnounced`: the current table announces the part to it. Absent: every holder may.
   */
  readonly isReady?: (slot: number, isAnnounced: boolean) => boolean;
  /** Clusters that holders offer because none of theirs answers. Absent: none. */
  readonly offers?: ClusterOffers;
  /** The newest epoch that may be in use. */
  readonly epochFloor: number;
  /** From 0 to 999, different for each plan. */
  readonly nonce: number;
  /** Wall time. */
  readonly now: number;
  /** Longest known lease of any holder. */
  readonly longestLeaseMs: number;
}

/**
 * Returns the table that follows `current`, or undefined if nothing changes. For every part that
 * changes owners, the table lists the holders that must release it first; this list is the memory
 * of the protocol (docs/adr/0010-ownership-handover.md). Pure. Names and URLs route Applications,
 * so a change of them may affect Applications of any owner. Every holder must therefore acknowledge
 * the table before a new, renamed or newly split cluster is taken up, or one that shares its name
 * with other clusters than before; a finer split changes no owner by itself. A change of any name
 * or URL has the same effect on the entry of unresolved destinations.
 */
export function nextTable(
  current: TableDocument | undefined,
  inputs: PlanInputs,
  context: PlanContext,
): TableDocument | undefined {
  const { replicas, now } = context;
  const balanced = rebalance(
    current === undefined ? undefined : { ...current, shards: shardsOf(current) },
    { ...inputs, replicas },
    now,
  );
  const { nonce, epochFloor } = context;
  const epoch = current === undefined ? epochAfterLoss(epochFloor, nonce) : nextEpoch(current.epoch, nonce);
  const homes = wantedHomes(inputs, balanced.shards, replicas);
  const absent = new Set([...context.absent, ...startingSlots(current, context)]);
  const wanted = assignStandIns(current, homes, { ...context, absent, weights: inputs.weights });
  const slots = Math.max(current?.slots ?? 0, replicas, ...context.holders.map((slot) => slot + 1));
  const shape = { replicas, algorithm: inputs.algorithm, slots, leaseMs: context.longestLeaseMs };
  if (current !== undefined && sameShape(current, wanted, shape)) return undefined;
  const entries = addWaits(current, wanted, { ...context, epoch });
  return { epoch, ...shape, entries, movedAt: balanced.movedAt };
}

/** A table's shards by part, as the algorithm assigned them. */
export function shardsOf(table: TableDocument): ReadonlyMap<string, number> {
  const shards = new Map<string, number>();
  for (const [server, { homes }] of table.entries) {
    if (server === unresolvedDestination) continue;
    homes.forEach((shard, i) => shards.set(partKey(server, i, homes.length), shard));
  }
  return shards;
}

/** Names of the Secrets of each server, which route Applications. */
export function namesByServer(
  clusters: readonly { readonly server: string; readonly name: string; readonly aliases?: readonly string[] }[],
): ReadonlyMap<string, readonly string[]> {
  const names = new Map<string, string[]>();
  for (const { server, name, aliases = [] } of clusters) {
    const key = clusterKey(server);
    names.set(key, [...(names.get(key) ?? []), name, ...aliases]);
  }
  for (const list of names.values()) list.sort();
  return names;
}

type EntryHomes = ReadonlyMap<string, Pick<TableEntry, 'names' | 'homes'>>;
type WantedEntries = ReadonlyMap<string, Pick<TableEntry, 'names' | 'homes' | 'shards'>>;

function wantedHomes(inputs: PlanInputs, shards: ReadonlyMap<string, number>, replicas: number): EntryHomes {
  const wanted = new Map<string, Pick<TableEntry, 'names' | 'homes'>>();
  const spread = Array.from({ length: unresolvedParts }, (_, i) => i % Math.max(1, replicas));
  wanted.set(unresolvedDestination, { names: [], homes: spread });
  const names = namesByServer(inputs.clusters);
  for (const { server, parts = 1 } of rankClusters(inputs.clusters)) {
    const key = clusterKey(server);
    const homes = Array.from({ length: parts }, (_, i) => shards.get(partKey(key, i, parts)) ?? 0);
    wanted.set(key, { names: names.get(key) ?? [], homes });
  }
  return wanted;
}

/**
 * Desired slots without a holder or parts: their replicas are still starting. Until these hold
 * their slots, current owners keep the clusters, so that a scale-up leaves no cluster without an
 * owner (decision D18). The first table has no such exception, because the first replica would take
 * everything and fill caches it was not sized for.
 */
function startingSlots(current: TableDocument | undefined, { replicas, holders }: PlanContext): readonly number[] {
  if (current === undefined) return [];
  const had = new Set([...current.entries.values()].flatMap(({ shards }) => shards));
  const held = new Set(holders);
  return Array.from({ length: replicas }, (_, slot) => slot).filter((slot) => !had.has(slot) && !held.has(slot));
}

type StandIns = Pick<PlanContext, 'live' | 'absent' | 'replicas' | 'isReady' | 'offers'> & Pick<PlanInputs, 'weights'>;

/**
 * Gives the parts of absent slots to the least loaded live holders: a dead replica that is not
 * replaced must not leave clusters without an owner (in Argo CD it does, for days). A stand-in
 * keeps its parts until the slot is held again. When a part moves between live holders, its present
 * owner keeps it until the new one is ready. A cluster whose owner reaches none of its clusters is
 * given to a holder that has reached it, and returns when it answers there again; if no holder
 * reaches it, it stays.
 */
function assignStandIns(current: TableDocument | undefined, homes: EntryHomes, context: StandIns): WantedEntries {
  const able = context.live.filter((slot) => slot < context.replicas && !context.absent.has(slot));
  const loads = new Map(able.map((slot) => [slot, 0]));
  const weightOf = (server: string, part: number, of: number): number =>
    context.weights.get(partKey(server, part, of)) ?? 1;
  const load = (slot: number, weight: number): void => void loads.set(slot, (loads.get(slot) ?? 0) + weight);
  for (const [server, { homes: list }] of homes)
    list.forEach((slot, part) => load(slot, weightOf(server, part, list.length)));
  const wanted = new Map<string, Pick<TableEntry, 'names' | 'homes' | 'shards'>>();
  for (const [server, { names, homes: list }] of homes) {
    const offer = context.offers?.get(clusterDigest(server));
    const before = beforeOf(current?.entries.get(server), list.length);
    const shards = list.map((home, part) => {
      const earlier = before?.shards[part];
      const candidates = offer && candidatesOf(offer, { home, earlier, able });
      if (candidates !== undefined) {
        const slot = leastLoaded(candidates, loads);
        if (slot !== home) load(slot, weightOf(server, part, list.length));
        return slot;
      }
      if (!context.absent.has(home) && earlier !== undefined && earlier !== home && context.live.includes(earlier))
        return context.isReady?.(home, before?.homes[part] === home) === false ? earlier : home;
      if (!context.absent.has(home) || able.length === 0) return home;
      const slot = earlier !== undefined && able.includes(earlier) ? earlier : leastLoaded(able, loads);
      load(slot, weightOf(server, part, list.length));
      return slot;
    });
    wanted.set(server, { names, homes: list, shards });
  }
  return wanted;
}

function leastLoaded(able: readonly number[], loads: ReadonlyMap<number, number>): number {
  const [first = 0, ...rest] = able;
  return rest.reduce((best, slot) => ((loads.get(slot) ?? 0) < (loads.get(best) ?? 0) ? slot : best), first);
}

function sameShape(
  current: TableDocument,
  wanted: WantedEntries,
  { replicas, algorithm, slots, leaseMs }: Pick<TableDocument, 'replicas' | 'algorithm' | 'slots' | 'leaseMs'>,
): boolean {
  if (current.replicas !== replicas || current.algorithm !== algorithm || current.slots !== slots) return false;
  // A shorter lease is published with the next table that is needed anyway.
  if (current.leaseMs === undefined || current.leaseMs < (leaseMs ?? 0)) return false;
  if (current.entries.size !== wanted.size) return false;
  for (const [server, { names, homes, shards }] of wanted) {
    const old = current.entries.get(server);
    if (old === undefined || !sameList(old.names, names) || !sameList(old.shards, shards)) return false;
    if (!sameList(old.homes, homes)) return false;
  }
  return true;
}

/** The entry as if it had had so many parts; undefined if that is no finer split. */
function beforeOf(old: TableEntry | undefined, parts: number): TableEntry | undefined {
  if (old === undefined || old.shards.length === parts) return old;
  if (!isFinerSplit(old.shards.length, parts)) return undefined;
  const spread = <T>(list: readonly T[]): readonly T[] =>
    Array.from({ length: parts }, (_, i) => list[i % list.length] as T);
  return { ...old, shards: spread(old.shards), homes: spread(old.homes), waits: spread(old.waits) };
}

type WaitContext = Pick<PlanContext, 'holders' | 'settled'> & { readonly epoch: number };

function addWaits(
  current: TableDocument | undefined,
  wanted: WantedEntries,
  context: WaitContext,
): ReadonlyMap<string, TableEntry> {
  const renamed = current === undefined || namesChanged(current, wanted);
  const [before, after] = [serversByName(current?.entries), serversByName(wanted)];
  const meansTheSame = (name: string): boolean => sameList(before.get(name) ?? [], after.get(name) ?? []);
  const entries = new Map<string, TableEntry>();
  for (const [server, { names, homes, shards }] of wanted) {
    const old = beforeOf(current?.entries.get(server), shards.length);
    const known = old !== undefined && sameList(old.names, names) && names.every(meansTheSame);
    const waits = shards.map((shard, i) => (known ? waitsFor(old, i, { shard, ...context }) : []));
    const everyone =
      !known || (server === unresolvedDestination && renamed) ? context.epoch : remainingEveryone(old, context);
    entries.set(server, { names, shards, homes, waits, everyone });
  }
  return entries;
}

/** Servers that a name may mean: it routes Applications only while it is unique. */
function serversByName(
  entries: ReadonlyMap<string, Pick<TableEntry, 'names'>> = new Map(),
): ReadonlyMap<string, readonly string[]> {
  const servers = new Map<string, string[]>();
  for (const [server, { names }] of entries)
    for (const name of names) servers.set(name, [...(servers.get(name) ?? []), server]);
  for (const list of servers.values()) list.sort();
  return servers;
}

function namesChanged(current: TableDocument, wanted: WantedEntries): boolean {
  if (current.entries.size !== wanted.size) return true;
  for (const [server, { names, shards }] of wanted) {
    const old = current.entries.get(server);
    if (old?.shards.length !== shards.length || !sameList(old.names, names)) return true;
  }
  return false;
}

function waitsFor(
  old: TableEntry,
  part: number,
  { shard, epoch, settled }: WaitContext & { shard: number },
): ReleaseWait[] {
  const before = old.shards[part] ?? shard;
  const waits = (old.waits[part] ?? []).filter((wait) => wait.slot !== shard && wait.slot !== before && !settled(wait));
  // A former owner that never acknowledged an earlier table must acknowledge this one instead.
  return before === shard ? waits : [...waits, { slot: before, epoch }];
}

/** Slots without a holder are settled. */
function remainingEveryone({ everyone }: TableEntry, { holders, settled }: WaitContext): number {
  return everyone === 0 || holders.every((slot) => settled({ slot, epoch: everyone })) ? 0 : everyone;
}

function sameList(a: readonly (string | number)[], b: readonly (string | number)[]): boolean {
  return a.length === b.length && a.every((item, i) => item === b[i]);
}
