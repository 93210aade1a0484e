import { isObject } from '#base';
import type { Json } from '#base';
import { longestLeaseMs } from './timing.ts';

/** Name and key of Argo CD's ConfigMap for dynamic distribution; its tools read it. */
export const slotsConfigMap = 'argocd-app-controller-shard-cm';
export const slotsKey = 'shardControllerMapping';
/** Beside Argo CD's key, for what its JSON has no room for. Argo CD leaves other keys alone. */
export const membersKey = 'driftlessMembers';

/** No fleet is that large; a higher number is a mistake, and would cost time and memory. */
export const mostSlots = 10_000;

/** Stands in a slot whose holder is not known, after the ConfigMap was lost or spoilt: it expires like any other. */
export const unknownHolder = 'unknown';

/** Who holds a slot (a shard number). */
export interface SlotRecord {
  readonly slot: number;
  /** Host name of the replica. */
  readonly holder: string;
  /** One claim of one process; a process that lost its slot comes back under another. */
  readonly incarnation: string;
  /** Counts up with every renewal, so that others see life without trusting a clock. */
  readonly renewals: number;
  /** The newest table that the holder obeys; 0: none yet. */
  readonly acked: number;
  /** The holder's wall clock at the renewal, for people and for Argo CD. */
  readonly heartbeat: number;
  /** How long the holder must have been silent before anybody may take its slot; absent: an older release, or Argo CD. */
  readonly leaseMs?: number;
  /** Of the protocol; absent: an older release, or Argo CD. */
  readonly version?: number;
  /**
   * The newest table of which everything is ready that this holder will get (its caches are filled). Absent: it does not say, and is not waited for.
   */
  readonly warm?: number;
  /** Where the holder runs (home.ts); absent: nobody knows. */
  readonly home?: { readonly place: string; readonly pid: number };
  /** Live events per second of the holder's busiest clusters (event-rates.ts). */
  readonly load?: ReadonlyMap<string, number>;
}

/** The holders, by slot. A slot without an entry is free. */
export type Slots = ReadonlyMap<number, SlotRecord>;

/** What a reader finds: a document, nothing, or something that cannot be read. */
export type Found<T> =
  | { readonly state: 'ok'; readonly value: T }
  | { readonly state: 'missing' }
  | { readonly state: 'broken'; readonly why: string };

/** Whether a slot is held by a replica of Argo CD itself: it renews, and obeys no table. */
export function isForeign({ incarnation }: Pick<SlotRecord, 'incarnation'>): boolean {
  return incarnation.startsWith(foreignPrefix);
}

const foreignPrefix = 'argocd/';

/**
 * Reads the ConfigMap's data. Entries of Argo CD's own replicas, which have no counterpart under {@link membersKey}, count as held by
 * somebody who obeys no table. One without any holder that was not written by us is like none: it may have had holders a moment ago. So
 * does a holder that stands under our key only: whoever took its entry out was not its holder.
 */
export function parseSlots(data: Readonly<Record<string, unknown>>): Found<Slots> {
  const [text, extra] = [data[slotsKey], data[membersKey]];
  if (text === undefined || text === '') return { state: 'missing' };
  const known = parsed.find((each) => each.text === text && each.extra === extra);
  if (known !== undefined) return known.found;
  const found = parseTexts(text, extra);
  parsed.unshift({ text, extra, found });
  parsed.length = Math.min(parsed.length, rememberedTexts);
  return found;
}

/** The same text comes by the watch and with the look that follows. */
const rememberedTexts = 2;
const parsed: { readonly text: unknown; readonly extra: unknown; readonly found: Found<Slots> }[] = [];

function parseTexts(text: unknown, extra: unknown): Found<Slots> {
  const list = parse(text);
  if (!Array.isArray(list)) return { state: 'broken', why: `${slotsKey} is not a JSON list` };
  const members = membersOf(extra);
  const slots = new Map<number, SlotRecord>();
  for (const entry of list as readonly Json[]) {
    const read = readEntry(entry);
    if (typeof read === 'string') return { state: 'broken', why: `${slotsKey} ${read}` };
    const { slot, holder, heartbeat } = read;
    if (holder === '' || slots.has(slot)) continue;
    const member = members.get(slot);
    const foreign = { slot, holder, incarnation: `${foreignPrefix}${holder}`, renewals: heartbeat, acked: 0 };
    slots.set(slot, { ...(member?.holder === holder ? member : foreign), heartbeat });
  }
  for (const [slot, member] of members) if (!slots.has(slot)) slots.set(slot, member);
  return slots.size === 0 && extra === undefined ? { state: 'missing' } : { state: 'ok', value: slots };
}

/** One entry of Argo CD's list, or what is wrong with it. */
function readEntry(entry: Json): Pick<SlotRecord, 'slot' | 'holder' | 'heartbeat'> | string {
  if (!isObject(entry)) return 'has an entry that is no object';
  const slot = entry['ShardNumber'];
  const holder = entry['ControllerName'] ?? '';
  if (typeof slot !== 'number' || !Number.isSafeInteger(slot) || slot < 0) return 'has an entry without a shard number';
  if (slot >= mostSlots) return `has shard ${slot}, and no shard may be ${mostSlots} or higher`;
  if (typeof holder !== 'string') return 'has an entry whose name is no text';
  const time = entry['HeartbeatTime'];
  const heartbeat = typeof time === 'string' ? Date.parse(time) : Number.NaN;
  return { slot, holder, heartbeat: Number.isFinite(heartbeat) ? heartbeat : 0 };
}

/** The ConfigMap's data: free slots below `count` are listed too, as Argo CD does. */
export function formatSlots(slots: Slots, count: number): Readonly<Record<string, string>> {
  const numbers = new Set([...Array.from({ length: count }, (_, i) => i), ...slots.keys()]);
  const sorted = [...numbers].sort((a, b) => a - b);
  const list = sorted.map((slot) => {
    const record = slots.get(slot);
    const at = record === undefined || record.heartbeat <= 0 ? null : rfc3339(record.heartbeat);
    return { ShardNumber: slot, ControllerName: record?.holder ?? '', HeartbeatTime: at };
  });
  const members = [...slots.values()]
    .filter((record) => !isForeign(record))
    .sort((a, b) => a.slot - b.slot)
    .map(({ slot, holder, incarnation, renewals, acked, warm, leaseMs, version, home, load }) => ({
      slot,
      holder,
      incarnation,
      renewals,
      acked,
      warm,
      leaseMs,
      version,
      home,
      ...(load === undefined || load.size === 0 ? {} : { load: Object.fromEntries(load) }),
    }));
  return { [slotsKey]: JSON.stringify(list), [membersKey]: JSON.stringify(members) };
}

/** RFC 3339 in UTC with seconds, as Go writes it. */
function rfc3339(ms: number): string {
  return new Date(ms).toISOString().replace(/[.][0-9]+Z$/, 'Z');
}

function membersOf(text: unknown): ReadonlyMap<number, SlotRecord> {
  const list = parse(text);
  const members = new Map<number, SlotRecord>();
  if (!Array.isArray(list)) return members;
  for (const entry of list) {
    if (!isObject(entry)) continue;
    const { slot, holder, incarnation, renewals, acked } = entry;
    if (typeof slot !== 'number' || typeof holder !== 'string' || typeof incarnation !== 'string') continue;
    if (typeof renewals !== 'number' || typeof acked !== 'number') continue;
    if (!Number.isSafeInteger(slot) || slot < 0 || slot >= mostSlots) continue;
    const load = loadOf(entry['load']);
    members.set(slot, {
      slot,
      holder,
      incarnation,
      renewals,
      acked,
      heartbeat: 0,
      ...protocolOf(entry),
      ...(load.size === 0 ? {} : { load }),
    });
  }
  return members;
}

/** A lease that no release has is none: it must not keep a slot from everybody for ever. */
function protocolOf({
  leaseMs,
  version,
  home,
  warm,
}: Readonly<Partial<Record<'leaseMs' | 'version' | 'home' | 'warm', Json>>>): Partial<SlotRecord> {
  const isLease = typeof leaseMs === 'number' && leaseMs > 0 && leaseMs <= longestLeaseMs;
  const isVersion = typeof version === 'number' && Number.isSafeInteger(version) && version > 0;
  const { place, pid } = isObject(home) ? home : {};
  const isHome = typeof place === 'string' && typeof pid === 'number';
  return {
    ...(isLease ? { leaseMs } : {}),
    ...(isVersion ? { version } : {}),
    ...(typeof warm === 'number' ? { warm } : {}),
    ...(isHome ? { home: { place, pid } } : {}),
  };
}

/** What is no rate says nothing: it must not cost its holder the slot. */
function loadOf(value: Json | undefined): ReadonlyMap<string, number> {
  const rates = Object.entries(isObject(value) ? value : {});
  return new Map(rates.filter((rate): rate is [string, number] => typeof rate[1] === 'number' && rate[1] > 0));
}

function parse(text: unknown): Json | undefined {
  if (typeof text !== 'string') return undefined;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}
