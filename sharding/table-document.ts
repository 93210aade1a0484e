import { gunzipSync, gzipSync } from 'node:zlib';
import { isObject } from '#base';
import type { Json } from '#base';
import { algorithms } from './distribution.ts';
import type { ShardingAlgorithm } from './distribution.ts';
import type { Found } from './slots-document.ts';

export const tableConfigMap = 'driftless-ownership';
/** The table as JSON, for as long as it is small enough to be read by people. */
export const tableKey = 'table';
/** In binaryData: the same JSON, compressed. A ConfigMap takes 1 MiB. */
export const compressedKey = 'table.gz';
const readableBytes = 400_000;

/** The entry of Applications whose destination cannot be resolved: they too have one owner each. No cluster has this URL. */
export const unresolvedDestination = '';
export const unresolvedParts = 64;

/** "The holder of `slot` must have acknowledged `epoch`, or be gone." */
export interface Wait {
  readonly slot: number;
  readonly epoch: number;
}

export interface TableEntry {
  /** Names of the Secrets with this server, sorted, repeated where they repeat. */
  readonly names: readonly string[];
  /** The slot that has each part. */
  readonly shards: readonly number[];
  /** The shard of each part by the algorithm: another one than `shards` says while a stand-in has it. */
  readonly homes: readonly number[];
  /** For each part: who must have let go of it before its shard may take it up. */
  readonly waits: readonly (readonly Wait[])[];
  /** Every holder must have acknowledged this epoch before any part is taken up; 0: nothing of the kind. */
  readonly everyone: number;
}

/** Who owns what: published, numbered, obeyed. */
export interface TableDocument {
  readonly epoch: number;
  readonly replicas: number;
  readonly algorithm: ShardingAlgorithm;
  /** No slot at or above this one was ever in use. */
  readonly slots: number;
  /** The longest lease of any holder when this was planned: how long to wait when the slots are lost. Absent: an older release. */
  readonly leaseMs?: number;
  /** By server. */
  readonly entries: ReadonlyMap<string, TableEntry>;
  /** When parts were moved for balance, by part. */
  readonly movedAt: ReadonlyMap<string, number>;
}

type Data = Readonly<Record<string, unknown>>;

/** Reads the ConfigMap. One without a table (a chart may create it) is like none. */
export function parseTable(object: {
  readonly data?: Data | undefined;
  readonly binaryData?: Data | undefined;
}): Found<TableDocument> {
  const text = object.data?.[tableKey];
  const packed = object.binaryData?.[compressedKey];
  if ((text === undefined || text === '') && packed === undefined) return { state: 'missing' };
  if (parsed === undefined || parsed.text !== text || parsed.packed !== packed)
    parsed = { text, packed, found: parseTexts(text, packed) };
  return parsed.found;
}

/** The same table is read again and again; that of 10,000 clusters takes 30 ms to parse. */
let parsed: { readonly text: unknown; readonly packed: unknown; readonly found: Found<TableDocument> } | undefined;

function parseTexts(text: unknown, packed: unknown): Found<TableDocument> {
  try {
    const json = typeof packed === 'string' ? gunzipSync(Buffer.from(packed, 'base64')).toString() : String(text);
    return { state: 'ok', value: documentOf(JSON.parse(json) as Json) };
  } catch (error) {
    return { state: 'broken', why: error instanceof Error ? error.message : String(error) };
  }
}

/** The ConfigMap's data and binaryData. */
export function formatTable(table: TableDocument): {
  readonly data: Readonly<Record<string, string>>;
  readonly binaryData?: Readonly<Record<string, string>>;
} {
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
  const json = JSON.stringify({ epoch, replicas, algorithm, slots, leaseMs, clusters, ...movedAt });
  if (json.length <= readableBytes) return { data: { [tableKey]: json } };
  return { data: {}, binaryData: { [compressedKey]: gzipSync(json).toString('base64') } };
}

class Malformed extends Error {}

function documentOf(json: Json): TableDocument {
  if (!isObject(json) || !isObject(json['clusters'])) throw new Malformed('the table is not an object with clusters');
  const algorithm = algorithms.find((name) => name === json['algorithm']);
  if (algorithm === undefined) throw new Malformed('the table has no known algorithm');
  const entries = Object.entries(json['clusters']).map(([server, entry]) => [server, entryOf(entry)] as const);
  const movedAt = isObject(json['movedAt']) ? Object.entries(json['movedAt']) : [];
  return {
    epoch: whole(json['epoch']),
    replicas: whole(json['replicas']),
    algorithm,
    slots: whole(json['slots']),
    ...(json['leaseMs'] === undefined ? {} : { leaseMs: whole(json['leaseMs']) }),
    entries: new Map(entries),
    movedAt: new Map(movedAt.map(([part, at]) => [part, whole(at)])),
  };
}

function entryOf(json: Json | undefined): TableEntry {
  if (!isObject(json)) throw new Malformed('a cluster of the table is no object');
  const shards = list(json['shards']).map(whole);
  const waits = json['waits'] === undefined ? shards.map(() => []) : list(json['waits']).map(waitsOf);
  const homes = json['homes'] === undefined ? shards : list(json['homes']).map(whole);
  if (waits.length !== shards.length || homes.length !== shards.length)
    throw new Malformed('a cluster of the table has waits or homes that fit no part');
  return {
    names: list(json['names']).map(String),
    shards,
    homes,
    waits,
    everyone: json['everyone'] === undefined ? 0 : whole(json['everyone']),
  };
}

function waitsOf(json: Json): readonly Wait[] {
  return list(json).map((pair) => {
    const [slot, epoch] = list(pair);
    return { slot: whole(slot), epoch: whole(epoch) };
  });
}

function list(json: Json | undefined): readonly Json[] {
  if (!Array.isArray(json)) throw new Malformed('the table has something else where a list belongs');
  return json as readonly Json[];
}

function whole(json: Json | undefined): number {
  if (typeof json !== 'number' || !Number.isSafeInteger(json) || json < 0)
    throw new Malformed('the table has something else where a whole number belongs');
  return json;
}
