import { rankClusters } from './distribution.ts';
import type { ShardedCluster, ShardingAlgorithm } from './distribution.ts';
import { clusterKey, partKey } from './parts.ts';
import { rebalance } from './rebalance.ts';
import { homeless, homelessParts } from './table-document.ts';
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
  /** Slots at or above this one are not in use now. */
  readonly slots: number;
  /** Epochs up to this one may be in use. */
  readonly epochFloor: number;
  /** Wall time. */
  readonly now: number;
}

/** More than can have been published since anybody acknowledged one: a table made anew must not repeat the number of a lost one. */
const epochJump = 1000;

/**
 * The table that follows `current`, or undefined when that one will do. Beside the shards it says, for every part that changes hands, who
 * must have let go of it: the protocol's memory (docs/adr/0010-ownership-handover.md). Pure.
 *
 * A cluster that is new, split anew or renamed waits for everyone, and so do the homeless Applications then: names and URLs decide where
 * an Application goes, so any of them may have had any owner before.
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
  const epoch = current === undefined ? context.epochFloor + epochJump : current.epoch + 1;
  const wanted = wantedEntries(inputs, balanced.shards, replicas);
  const slots = Math.max(current?.slots ?? 0, context.slots, replicas);
  if (current !== undefined && sameShape(current, wanted, { replicas, algorithm: inputs.algorithm, slots }))
    return undefined;
  const entries = withWaits(current, wanted, { epoch, slots, settled: context.settled });
  return { epoch, replicas, algorithm: inputs.algorithm, slots, entries, movedAt: balanced.movedAt };
}

/** A table's shards by part. */
export function shardsOf(table: TableDocument): ReadonlyMap<string, number> {
  const shards = new Map<string, number>();
  for (const [server, entry] of table.entries) {
    if (server === homeless) continue;
    entry.shards.forEach((shard, i) => shards.set(partKey(server, i, entry.shards.length), shard));
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

type Wanted = ReadonlyMap<string, Pick<TableEntry, 'names' | 'shards'>>;

function wantedEntries(inputs: PlanInputs, shards: ReadonlyMap<string, number>, replicas: number): Wanted {
  const wanted = new Map<string, Pick<TableEntry, 'names' | 'shards'>>();
  const spread = Array.from({ length: homelessParts }, (_, i) => i % Math.max(1, replicas));
  wanted.set(homeless, { names: [], shards: spread });
  const names = namesByServer(inputs.clusters);
  for (const { server, parts = 1 } of rankClusters(inputs.clusters)) {
    const key = clusterKey(server);
    const list = Array.from({ length: parts }, (_, i) => shards.get(partKey(key, i, parts)) ?? 0);
    wanted.set(key, { names: names.get(key) ?? [], shards: list });
  }
  return wanted;
}

function sameShape(
  current: TableDocument,
  wanted: Wanted,
  { replicas, algorithm, slots }: { replicas: number; algorithm: string; slots: number },
): boolean {
  if (current.replicas !== replicas || current.algorithm !== algorithm || current.slots !== slots) return false;
  if (current.entries.size !== wanted.size) return false;
  for (const [server, { names, shards }] of wanted) {
    const old = current.entries.get(server);
    if (old === undefined || !sameList(old.names, names) || !sameList(old.shards, shards)) return false;
  }
  return true;
}

interface WaitContext {
  readonly epoch: number;
  readonly slots: number;
  readonly settled: (wait: Wait) => boolean;
}

function withWaits(
  current: TableDocument | undefined,
  wanted: Wanted,
  context: WaitContext,
): ReadonlyMap<string, TableEntry> {
  const renamed = current === undefined || namesChanged(current, wanted);
  const entries = new Map<string, TableEntry>();
  for (const [server, { names, shards }] of wanted) {
    const old = current?.entries.get(server);
    const known = old?.shards.length === shards.length && sameList(old.names, names);
    const waits = shards.map((shard, i) => (known ? waitsFor(old, i, { shard, ...context }) : []));
    const everyone = !known || (server === homeless && renamed) ? context.epoch : stillEveryone(old, context);
    entries.set(server, { names, shards, waits, everyone });
  }
  return entries;
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

function stillEveryone(old: TableEntry, { slots, settled }: WaitContext): number {
  const { everyone } = old;
  if (everyone === 0) return 0;
  for (let slot = 0; slot < slots; slot += 1) if (!settled({ slot, epoch: everyone })) return everyone;
  return 0;
}

function sameList(a: readonly (string | number)[], b: readonly (string | number)[]): boolean {
  return a.length === b.length && a.every((item, i) => item === b[i]);
}
