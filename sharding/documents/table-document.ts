import { createHash } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';
import { isObject } from '#base';
import type { Json } from '#base';
import { algorithms } from '../distribution/distribution.ts';
import type { ShardingAlgorithm } from '../distribution/distribution.ts';
import { longestLeaseMs } from '../timing/timing.ts';
import { hasReached, isEpoch, isSlot, isSlotCount, isWholeNumber, maxSlots } from './bounds.ts';
import type { ParseResult } from './slots-document.ts';

export const tableConfigMap = 'driftless-ownership';
/** Data key of the table as JSON, while it is small enough for people to read. */
export const tableKey = 'table';
/** Key in binaryData of the same JSON, compressed. A ConfigMap holds at most 1 MiB. */
export const compressedKey = 'table.gz';
const readableBytes = 400_000;

/**
 * Key of the entry for Applications without a resolvable destination; each of them has one owner
 * too. No cluster has this URL.
 */
export const unresolvedDestination = '';
export const unresolvedParts = 64;

/** A condition: the holder of `slot` has acknowledged `epoch`, or is gone. */
export interface ReleaseWait {
  readonly slot: number;
  readonly epoch: number;
}

export interface TableEntry {
  /** Names of the Secrets with this server, sorted, duplicates included. */
  readonly names: readonly string[];
  /** Owning slot of each part. */
  readonly shards: readonly number[];
  /**
   * Home shard of each part, assigned by the algorithm. Differs from `shards` while a stand-in owns
   * the part.
   */
  readonly homes: readonly number[];
  /** For each part: holders that must release it before its new owner takes it up. */
  readonly waits: readonly (readonly ReleaseWait[])[];
  /** Epoch that every holder must acknowledge before any part is taken up; 0: none. */
  readonly everyone: number;
}

/** The published, numbered table of owners that all replicas obey. */
export interface TableDocument {
  readonly epoch: number;
  readonly replicas: number;
  readonly algorithm: ShardingAlgorithm;
  /** No slot at or above this number was ever in use. */
  readonly slots: number;
  /**
   * Longest lease of any holder at planning time: how long to wait if the slots are lost. Absent:
   * an older release.
   */
  readonly leaseMs?: number;
  /** By server. */
  readonly entries: ReadonlyMap<string, TableEntry>;
  /** When parts were moved for balance, by part. */
  readonly movedAt: ReadonlyMap<string, number>;
}

type ConfigMapFields = Readonly<Record<string, unknown>>;

/** Parses the ConfigMap. A ConfigMap without a table (a chart may create it) counts as missing. */
export function parseTable(object: {
  readonly data?: ConfigMapFields | undefined;
  readonly binaryData?: ConfigMapFields | undefined;
}): ParseResult<TableDocument> {
  const text = object.data?.[tableKey];
  const packed = object.binaryData?.[compressedKey];
  if ((text === undefined || text === '') && packed === undefined) return { state: 'missing' };
  if (parsed === undefined || parsed.text !== text || parsed.packed !== packed)
    parsed = { text, packed, found: parseTexts(text, packed) };
  return parsed.found;
}

/** Cached: the same table is read repeatedly, and one of 10,000 clusters takes 30 ms to parse. */
let parsed:
  { readonly text: unknown; readonly packed: unknown; readonly found: ParseResult<TableDocument> } | undefined;

function parseTexts(text: unknown, packed: unknown): ParseResult<TableDocument> {
  try {
    const json = typeof packed === 'string' ? gunzipSync(Buffer.from(packed, 'base64')).toString() : String(text);
    return { state: 'ok', value: documentOf(JSON.parse(json) as Json) };
  } catch (error) {
    return { state: 'broken', why: error instanceof Error ? error.message : String(error) };
  }
}

/** Formats the ConfigMap's data and binaryData. */
export function formatTable(table: TableDocument): {
  readonly data: Readonly<Record<string, string>>;
  readonly binaryData?: Readonly<Record<string, string>>;
} {
  const json = JSON.stringify({ ...fieldsOf(table), sum: tableSum(table) });
  if (json.length <= readableBytes) return { data: { [tableKey]: json } };
  return { data: {}, binaryData: { [compressedKey]: gzipSync(json).toString('base64') } };
}

/** Two tables of one epoch with different checksums: one of them was edited by hand. */
export function tableSum(table: TableDocument): string {
  const known = sums.get(table) ?? sumOf(fieldsOf(table));
  sums.set(table, known);
  return known;
}

const sums = new WeakMap<TableDocument, string>();

function fieldsOf(table: TableDocument): object {
  const { epoch, replicas, algorithm, slots, leaseMs } = table;
  const clusters = Object.fromEntries(
    [...table.entries].map(([server, { names, shards, homes, waits, everyone }]) => [
      server,
      {
        names,
        shards,
        ...(shards.every((shard, i) => shard === homes[i]) ? {} : { homes }),
        ...(waits.every((list) => list.length === 0)
          ? {}
          : { waits: waits.map((list) => list.map((wait) => [wait.slot, wait.epoch])) }),
        ...(everyone === 0 ? {} : { everyone }),
      },
    ]),
  );
  const movedAt = table.movedAt.size === 0 ? {} : { movedAt: Object.fromEntries(table.movedAt) };
  return { epoch, replicas, algorithm, slots, leaseMs, clusters, ...movedAt };
}

class MalformedTableError extends Error {}

/**
 * An edit by hand keeps the epoch, so that some replicas would obey the edited table and others the
 * table before. Its checksum shows the edit: the table is rewritten like a lost one.
 */
export function sumOf(content: object): string {
  return createHash('sha256').update(JSON.stringify(content)).digest('hex').slice(0, 16);
}

/** Tables of older releases have no checksum. */
function documentOf(json: Json): TableDocument {
  if (!isObject(json) || !isObject(json['clusters']))
    throw new MalformedTableError('the table is not an object with clusters');
  const { sum, ...content } = json;
  if (sum !== undefined && sum !== sumOf(content))
    throw new MalformedTableError('the table was edited: its content does not match its checksum');
  const table = contentOf(content);
  const epochs = [...table.entries.values()].flatMap(({ waits, everyone }) => [
    everyone,
    ...waits.flat().map(({ epoch }) => epoch),
  ]);
  // Whoever obeys this table could never acknowledge such an epoch.
  if (!epochs.every((epoch) => hasReached(table.epoch, epoch)))
    throw new MalformedTableError('the table waits for an epoch that does not precede its own');
  return table;
}

function contentOf(json: Readonly<Record<string, Json | undefined>>): TableDocument {
  if (!isObject(json['clusters'])) throw new MalformedTableError('the table has no clusters');
  const algorithm = algorithms.find((name) => name === json['algorithm']);
  if (algorithm === undefined) throw new MalformedTableError('the table has no known algorithm');
  const entries = Object.entries(json['clusters']).map(([server, entry]) => [server, entryOf(entry)] as const);
  const movedAt = isObject(json['movedAt']) ? Object.entries(json['movedAt']) : [];
  return {
    epoch: epochValue(json['epoch']),
    replicas: slotCount(json['replicas']),
    algorithm,
    slots: slotCount(json['slots']),
    ...(isLease(json['leaseMs']) ? { leaseMs: json['leaseMs'] } : {}),
    entries: new Map(entries),
    movedAt: new Map(movedAt.filter((entry): entry is [string, number] => isWholeNumber(entry[1]))),
  };
}

function entryOf(json: Json | undefined): TableEntry {
  if (!isObject(json)) throw new MalformedTableError('a cluster of the table is no object');
  const shards = listValue(json['shards']).map(slotValue);
  const waits = json['waits'] === undefined ? shards.map(() => []) : listValue(json['waits']).map(waitsOf);
  const homes = json['homes'] === undefined ? shards : listValue(json['homes']).map(slotValue);
  if (waits.length !== shards.length || homes.length !== shards.length)
    throw new MalformedTableError('a cluster of the table has waits or homes that fit no part');
  return {
    names: listValue(json['names']).map(String),
    shards,
    homes,
    waits,
    everyone: json['everyone'] === undefined ? 0 : epochValue(json['everyone']),
  };
}

function waitsOf(json: Json): readonly ReleaseWait[] {
  return listValue(json).map((pair) => {
    const [slot, epoch] = listValue(pair);
    return { slot: slotValue(slot), epoch: epochValue(epoch) };
  });
}

function listValue(json: Json | undefined): readonly Json[] {
  if (!Array.isArray(json)) throw new MalformedTableError('the table has something else where a list belongs');
  return json as readonly Json[];
}

function epochValue(json: Json | undefined): number {
  if (!isEpoch(json)) throw new MalformedTableError(`the table has ${shown(json)} where an epoch belongs`);
  return json;
}

function slotValue(json: Json | undefined): number {
  if (!isSlot(json))
    throw new MalformedTableError(`the table has ${shown(json)} where a shard belongs, a number below ${maxSlots}`);
  return json;
}

function slotCount(json: Json | undefined): number {
  if (!isSlotCount(json))
    throw new MalformedTableError(`the table has ${shown(json)} where a number up to ${maxSlots} belongs`);
  return json;
}

/** An unknown lease counts as the longest. */
function isLease(json: Json | undefined): json is number {
  return isWholeNumber(json) && json <= longestLeaseMs;
}

function shown(json: Json | undefined): string {
  return json === undefined ? 'nothing' : JSON.stringify(json).slice(0, 40);
}
