import type { JsonObject } from '#base';
import type { Slots, TableDocument } from '#sharding';
import { table as columns } from '../output.ts';

/** One shard of a fleet at one moment. */
export interface ShardProgress {
  readonly shard: number;
  /** Undefined: free. */
  readonly holder: string | undefined;
  /** The holder obeys the published table. */
  readonly isCurrent: boolean;
  /** Parts of clusters that the table gives to it. */
  readonly parts: number;
  /** Parts that it will get when it has filled its caches, or is there at all; others have them until then. */
  readonly coming: number;
  /** Parts that it keeps for others until then. */
  readonly leaving: number;
}

export interface FleetProgress {
  /** Of the published table; undefined: there is none. */
  readonly epoch: number | undefined;
  readonly replicas: number;
  readonly shards: readonly ShardProgress[];
}

/** Who holds which shard and what the table says of it: each shard that is held, or that the table has. Pure. */
export function progressOf(slots: Slots, document: TableDocument | undefined): FleetProgress {
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

/** The contract of `driftless shards watch -o json`: one object for each change. */
export function progressJson({ epoch, replicas, shards }: FleetProgress, time: string): JsonObject {
  return {
    time,
    epoch: epoch ?? null,
    replicas,
    shards: shards.map(({ holder, ...rest }) => ({ ...rest, holder: holder ?? null })),
  };
}

/** For a terminal: the whole fleet. */
export function progressTable({ epoch, replicas, shards }: FleetProgress, time: string): readonly string[] {
  const head = epoch === undefined ? 'no table is published' : `table ${epoch} for ${replicas} replicas`;
  const header = ['shard', 'holder', 'state', 'clusters', 'to come', 'to go'];
  const rows = shards.map((each) => [
    ...[String(each.shard), each.holder ?? '-', stateOf(each)],
    ...[each.parts, each.coming, each.leaving].map(String),
  ]);
  return [`${time}  ${head}`, ...columns(header, rows)];
}

/** For a pipe: a line for each shard of which something else is so than before. */
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
    ...gone.map((shard) => `shard ${shard}: is no shard any more`),
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
