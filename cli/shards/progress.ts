import type { JsonObject } from '#base';
import type { SlotHolders, TableDocument } from '#sharding';
import { table as columns } from '../process/output.ts';

/** A shard of a fleet at one moment. */
export interface ShardProgress {
  readonly shard: number;
  /** Undefined: the shard is free. */
  readonly holder: string | undefined;
  /** The holder has acknowledged the published table. */
  readonly isCurrent: boolean;
  /** Parts of clusters that the table assigns to the shard. */
  readonly parts: number;
  /**
   * Parts that the shard will get once its holder exists and has filled its caches; others own them
   * until then.
   */
  readonly coming: number;
  /** Parts that the shard keeps for others until then. */
  readonly leaving: number;
}

export interface FleetProgress {
  /** Epoch of the published table; undefined without one. */
  readonly epoch: number | undefined;
  readonly replicas: number;
  readonly shards: readonly ShardProgress[];
}

/** Progress of every shard that is held or in the table. Pure. */
export function progressOf(slots: SlotHolders, document: TableDocument | undefined): FleetProgress {
  const { replicas = 0, epoch } = document ?? {};
  const parts = [...(document?.entries ?? [])].flatMap(([server, { shards, homes }]) =>
    server === '' ? [] : shards.map((shard, i) => ({ shard, home: homes[i] ?? shard })),
  );
  const numbers = new Set([...Array.from({ length: replicas }, (_, i) => i), ...slots.keys()]);
  for (const { shard } of parts) numbers.add(shard);
  const shards = [...numbers]
    .sort((a, b) => a - b)
    .map((shard): ShardProgress => {
      const record = slots.get(shard);
      return {
        shard,
        holder: record?.holder,
        isCurrent: record !== undefined && epoch !== undefined && record.acked >= epoch,
        parts: parts.filter((each) => each.shard === shard).length,
        coming: parts.filter((each) => each.home === shard && each.shard !== shard).length,
        leaving: parts.filter((each) => each.shard === shard && each.home !== shard).length,
      };
    });
  return { epoch, replicas, shards };
}

/** Contract of `driftless shards watch -o json`: one object per change. */
export function progressJson({ epoch, replicas, shards }: FleetProgress, time: string): JsonObject {
  return {
    time,
    epoch: epoch ?? null,
    replicas,
    shards: shards.map(({ holder, ...rest }) => ({ ...rest, holder: holder ?? null })),
  };
}

/** The whole fleet, for a terminal. */
export function progressTable({ epoch, replicas, shards }: FleetProgress, time: string): readonly string[] {
  const head = epoch === undefined ? 'no table is published' : `table ${epoch} for ${replicas} replicas`;
  const header = ['shard', 'holder', 'state', 'clusters', 'to come', 'to go'];
  const rows = shards.map((each) => [
    ...[String(each.shard), each.holder ?? '-', stateOf(each)],
    ...[each.parts, each.coming, each.leaving].map(String),
  ]);
  return [`${time}  ${head}`, ...columns(header, rows)];
}

/** One line per changed shard, for a pipe. */
export function progressLines(
  before: FleetProgress | undefined,
  after: FleetProgress,
  time: string,
): readonly string[] {
  const known = new Map((before?.shards ?? []).map((each) => [each.shard, lineOf(each)]));
  const changed = after.shards.filter((each) => known.get(each.shard) !== lineOf(each)).map(lineOf);
  const isNewTable = before === undefined || before.epoch !== after.epoch;
  const head =
    after.epoch === undefined ? 'no table is published' : `table ${after.epoch} for ${after.replicas} replicas`;
  const gone = [...known.keys()].filter((shard) => !after.shards.some((each) => each.shard === shard));
  return [
    ...(isNewTable ? [head] : []),
    ...changed,
    ...gone.map((shard) => `shard ${shard}: is no longer a shard`),
  ].map((line) => `${time}  ${line}`);
}

function lineOf(each: ShardProgress): string {
  const moves = [
    ...(each.coming > 0 ? [`${each.coming} to come`] : []),
    ...(each.leaving > 0 ? [`${each.leaving} to go`] : []),
  ];
  const holder = each.holder === undefined ? 'free' : `${each.holder}, ${stateOf(each)}`;
  return [`shard ${each.shard}: ${holder}`, `${each.parts} clusters`, ...moves].join(', ');
}

function stateOf({ holder, isCurrent, coming }: ShardProgress): string {
  if (holder === undefined) return 'free';
  if (!isCurrent) return 'behind the table';
  return coming > 0 ? 'fills caches' : 'settled';
}
