import { rankClusters } from './distribution.ts';
import type { ShardedCluster, ShardingAlgorithm } from './distribution.ts';
import { clusterKey, partKey } from './parts.ts';
import { rebalance } from './rebalance.ts';
import { unresolvedDestination, unresolvedParts } from './table-document.ts';
import type { TableDocument, TableEntry, Wait } from './table-document.ts';

/** What a replica knows of the world, and would build a table from. */
export interface PlanInputs {
  readonly algorithm: ShardingAlgorithm;
  readonly clusters: readonly (ShardedCluster & { readonly name: string })[];
  /** By part. */
  readonly weights: ReadonlyMap<string, number>;
}

export interface PlanContext {
  readonly replicas: number;
  /** Whether the holder of a slot has acknowledged an epoch, or is gone. */
  readonly settled: (wait: Wait) => boolean;
  /** Slots that are held now, by whomever. */
  readonly holders: readonly number[];
  /** Slots whose holders were seen alive lately. */
  readonly live: readonly number[];
  /** Slots that nobody has held for too long: others stand in for them. */
  readonly absent: ReadonlySet<number>;
  /**
   * Whether the holder of a slot may get a part that another one has (its caches are filled); announced: the current table says that it will. Absent:
   * all may.
   */
  readonly isReady?: (slot: number, isAnnounced: boolean) => boolean;
  /** Epochs up to this one may be in use. */
  readonly epochFloor: number;
  /** From 0 to 999, another one for each plan. */
  readonly nonce: number;
  /** Wall time. */
  readonly now: number;
  /** Of those who hold slots, as far as that is known. */
  readonly longestLeaseMs: number;
}

/**
 * Epochs are counted in thousands; the rest is the planner's nonce. So a table that is made after an older one was brought back does not have
 * the number of the one that was lost, which somebody may still be about to acknowledge.
 */
const epochStep = 1000;
/** More than can have been published since anybody acknowledged one: a table made anew must not repeat the number of a lost one. */
const epochJump = 1000 * epochStep;

/**
 * The table that follows `current`, or undefined when that one will do. Beside the shards it says, for every part that changes hands, who
 * must have let go of it: the protocol's memory (docs/adr/0010-ownership-handover.md). Pure.
 *
 * A cluster that is new, split anew or renamed waits for everyone, and so do its namesakes and the Applications with an unresolved destination then: names and URLs
 * decide where an Application goes, so any of them may have had any owner before.
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
  const before = current?.epoch ?? context.epochFloor + epochJump;
  const epoch = (Math.floor(before / epochStep) + 1) * epochStep + context.nonce;
  const homes = wantedHomes(inputs, balanced.shards, replicas);
  const absent = new Set([...context.absent, ...slotsToCome(current, context)]);
  const wanted = withStandIns(current, homes, { ...context, absent, weights: inputs.weights });
  const slots = Math.max(current?.slots ?? 0, replicas, ...context.holders.map((slot) => slot + 1));
  const shape = { replicas, algorithm: inputs.algorithm, slots, leaseMs: context.longestLeaseMs };
  if (current !== undefined && sameShape(current, wanted, shape)) return undefined;
  const entries = withWaits(current, wanted, { ...context, epoch });
  return { epoch, ...shape, entries, movedAt: balanced.movedAt };
}

/** A table's shards by part, as the algorithm gave them. */
export function shardsOf(table: TableDocument): ReadonlyMap<string, number> {
  const shards = new Map<string, number>();
  for (const [server, { homes }] of table.entries) {
    if (server === unresolvedDestination) continue;
    homes.forEach((shard, i) => shards.set(partKey(server, i, homes.length), shard));
  }
  return shards;
}

/** The names of the Secrets of each server: what decides where an Application goes. */
export function namesByServer(
  clusters: readonly { readonly server: string; readonly name: string }[],
): ReadonlyMap<string, readonly string[]> {
  const names = new Map<string, string[]>();
  for (const { server, name } of clusters) {
    const key = clusterKey(server);
    names.set(key, [...(names.get(key) ?? []), name]);
  }
  for (const list of names.values()) list.sort();
  return names;
}

type Homes = ReadonlyMap<string, Pick<TableEntry, 'names' | 'homes'>>;
type Wanted = ReadonlyMap<string, Pick<TableEntry, 'names' | 'homes' | 'shards'>>;

function wantedHomes(inputs: PlanInputs, shards: ReadonlyMap<string, number>, replicas: number): Homes {
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
 * Slots that are wanted, held by nobody and have nothing: their replicas are still to come. Who has their clusters keeps them until then, so
 * that a scale-up leaves none alone while its pods start (decision D18). The first table is another matter: nobody has anything yet, and
 * one replica that takes everything because it is first would fill caches that it was not sized for.
 */
function slotsToCome(current: TableDocument | undefined, { replicas, holders }: PlanContext): readonly number[] {
  if (current === undefined) return [];
  const had = new Set([...current.entries.values()].flatMap(({ shards }) => shards));
  const held = new Set(holders);
  return Array.from({ length: replicas }, (_, slot) => slot).filter((slot) => !had.has(slot) && !held.has(slot));
}

type StandIns = Pick<PlanContext, 'live' | 'absent' | 'replicas' | 'isReady'> & Pick<PlanInputs, 'weights'>;

/**
 * Gives the parts of absent slots to the least loaded of those who are there: a replica that died and is not replaced must not leave
 * clusters to nobody (Argo CD: it does, for days). Who stands in goes on doing so as long as it lives; when the slot is held again, its
 * parts go home. Who lives and has parts that are to be another one's keeps them until that is ready.
 */
function withStandIns(current: TableDocument | undefined, homes: Homes, context: StandIns): Wanted {
  const able = context.live.filter((slot) => slot < context.replicas && !context.absent.has(slot));
  const loads = new Map(able.map((slot) => [slot, 0]));
  const weightOf = (server: string, part: number, of: number): number =>
    context.weights.get(partKey(server, part, of)) ?? 1;
  const load = (slot: number, weight: number): void => void loads.set(slot, (loads.get(slot) ?? 0) + weight);
  for (const [server, { homes: list }] of homes)
    list.forEach((slot, part) => load(slot, weightOf(server, part, list.length)));
  const wanted = new Map<string, Pick<TableEntry, 'names' | 'homes' | 'shards'>>();
  for (const [server, { names, homes: list }] of homes) {
    const old = current?.entries.get(server);
    const before = old?.shards.length === list.length ? old : undefined;
    const shards = list.map((home, part) => {
      const earlier = before?.shards[part];
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
  wanted: Wanted,
  { replicas, algorithm, slots, leaseMs }: Pick<TableDocument, 'replicas' | 'algorithm' | 'slots' | 'leaseMs'>,
): boolean {
  if (current.replicas !== replicas || current.algorithm !== algorithm || current.slots !== slots) return false;
  // A lease that is shorter now is told with the next table that is needed anyway.
  if (current.leaseMs === undefined || current.leaseMs < (leaseMs ?? 0)) return false;
  if (current.entries.size !== wanted.size) return false;
  for (const [server, { names, homes, shards }] of wanted) {
    const old = current.entries.get(server);
    if (old === undefined || !sameList(old.names, names) || !sameList(old.shards, shards)) return false;
    if (!sameList(old.homes, homes)) return false;
  }
  return true;
}

type WaitContext = Pick<PlanContext, 'holders' | 'settled'> & { readonly epoch: number };

function withWaits(
  current: TableDocument | undefined,
  wanted: Wanted,
  context: WaitContext,
): ReadonlyMap<string, TableEntry> {
  const renamed = current === undefined || namesChanged(current, wanted);
  const [before, after] = [serversByName(current?.entries), serversByName(wanted)];
  const meansTheSame = (name: string): boolean => sameList(before.get(name) ?? [], after.get(name) ?? []);
  const entries = new Map<string, TableEntry>();
  for (const [server, { names, homes, shards }] of wanted) {
    const old = current?.entries.get(server);
    const known = old?.shards.length === shards.length && sameList(old.names, names) && names.every(meansTheSame);
    const waits = shards.map((shard, i) => (known ? waitsFor(old, i, { shard, ...context }) : []));
    const everyone =
      !known || (server === unresolvedDestination && renamed) ? context.epoch : stillEveryone(old, context);
    entries.set(server, { names, shards, homes, waits, everyone });
  }
  return entries;
}

/** The servers that a name may mean: Applications go by it only while it is one. */
function serversByName(
  entries: ReadonlyMap<string, Pick<TableEntry, 'names'>> = new Map(),
): ReadonlyMap<string, readonly string[]> {
  const servers = new Map<string, string[]>();
  for (const [server, { names }] of entries)
    for (const name of names) servers.set(name, [...(servers.get(name) ?? []), server]);
  for (const list of servers.values()) list.sort();
  return servers;
}

function namesChanged(current: TableDocument, wanted: Wanted): boolean {
  if (current.entries.size !== wanted.size) return true;
  for (const [server, { names, shards }] of wanted) {
    const old = current.entries.get(server);
    if (old?.shards.length !== shards.length || !sameList(old.names, names)) return true;
  }
  return false;
}

function waitsFor(old: TableEntry, part: number, { shard, epoch, settled }: WaitContext & { shard: number }): Wait[] {
  const before = old.shards[part] ?? shard;
  const waits = (old.waits[part] ?? []).filter((wait) => wait.slot !== shard && wait.slot !== before && !settled(wait));
  // A former owner that never acknowledged an earlier table owes the acknowledgment of this one instead.
  return before === shard ? waits : [...waits, { slot: before, epoch }];
}

/** Slots that nobody holds are settled. */
function stillEveryone({ everyone }: TableEntry, { holders, settled }: WaitContext): number {
  return everyone === 0 || holders.every((slot) => settled({ slot, epoch: everyone })) ? 0 : everyone;
}

function sameList(a: readonly (string | number)[], b: readonly (string | number)[]): boolean {
  return a.length === b.length && a.every((item, i) => item === b[i]);
}
