import { defined, isObject, omit } from '#base';
import type { Json } from '#base';
import { longestLeaseMs } from '../timing/timing.ts';
import { isEpoch, isEventRate, isSlot, isWholeNumber, maxSlots } from './bounds.ts';

/** Name and key of Argo CD's ConfigMap for dynamic distribution; its tools read it. */
export const slotsConfigMap = 'argocd-app-controller-shard-cm';
export const slotsKey = 'shardControllerMapping';
/** Key beside Argo CD's own, for fields that its JSON lacks. Argo CD leaves other keys alone. */
export const membersKey = 'driftlessMembers';

/**
 * Placeholder holder of a slot after the ConfigMap was lost or corrupted. It expires like any
 * other.
 */
export const unknownHolder = 'unknown';

/** The holder of a slot (a shard number). */
export interface SlotRecord {
  readonly slot: number;
  /** Host name of the replica. */
  readonly holder: string;
  /** One claim by one process; a process that loses its slot claims again under a new value. */
  readonly incarnation: string;
  /** Increases with every renewal, so that observers need not trust the holder's clock. */
  readonly renewals: number;
  /** Epoch of the newest table that the holder acknowledged; 0: none. */
  readonly acked: number;
  /** Checksum of the acknowledged table. Absent: an older release, or Argo CD. */
  readonly sum?: string;
  /** Wall clock of the holder at the renewal, for users and for Argo CD. */
  readonly heartbeat: number;
  /**
   * How long the holder must be silent before its slot may be taken. Absent: an older release, or
   * Argo CD.
   */
  readonly leaseMs?: number;
  /** Protocol version. Absent: an older release, or Argo CD. */
  readonly version?: number;
  /**
   * Epoch of the newest table whose announced parts are in the holder's caches. Absent: the holder
   * does not report this, and others do not wait for it.
   */
  readonly warm?: number;
  /** Where the holder runs (process-location.ts); absent: unknown. */
  readonly home?: RecordedProcess;
  /** Where the holder answers questions (the read API). Absent: an older release, or nowhere. */
  readonly api?: ApiAddress;
  /** Live events per second of the holder's busiest clusters (load/event-rates.ts). */
  readonly load?: ReadonlyMap<string, number>;
  /** Digests of clusters that the holder offers, because none of its clusters answers it. */
  readonly unreached?: readonly string[];
  /** Digests of offered clusters that answered the holder lately. */
  readonly reaches?: readonly string[];
  /** The holder has released the slot; the record stays while its {@link landing} counts. */
  readonly released?: true;
  /**
   * Servers that writes without an answer, of this or an earlier holder of the slot, may still
   * reach, and for how many milliseconds after this record was written. Absent: none.
   */
  readonly landing?: LandingWrites;
}

/** Milliseconds by server; {@link anyServer} stands for all. */
export type LandingWrites = ReadonlyMap<string, number>;

export const anyServer = '*';

/** The address of a replica's read API, for other replicas. */
export interface ApiAddress {
  /** `<IP>:<port>`, an IPv6 address in brackets. */
  readonly address: string;
  /** SHA-256 of its certificate in DER form, as lower-case hex digits. */
  readonly fingerprint: string;
}

/** A process as the slots document names it. */
export interface RecordedProcess {
  /**
   * UID of the pod, which restarts its container only after the old process is gone, or else the
   * PID namespace of the machine.
   */
  readonly place: string;
  readonly pid: number;
  /** Start time in clock ticks since boot. Absent: an older release, or a system without /proc. */
  readonly started?: number;
}

/** Holders by slot. A slot without an entry is free. */
export type SlotHolders = ReadonlyMap<number, SlotRecord>;

/** Result of reading a document: its value, nothing, or something unreadable. */
export type ParseResult<T> =
  | { readonly state: 'ok'; readonly value: T }
  | { readonly state: 'missing' }
  | { readonly state: 'broken'; readonly why: string };

/** Reports whether a replica of Argo CD itself holds the slot: it renews, but obeys no table. */
export function isForeign({ incarnation }: Pick<SlotRecord, 'incarnation'>): boolean {
  return incarnation.startsWith(foreignPrefix);
}

const foreignPrefix = 'argocd/';

/** The records whose holders have not released their slots. */
export function heldSlots(slots: SlotHolders): SlotHolders {
  const held = [...slots].filter(([, { released }]) => released !== true);
  return held.length === slots.size ? slots : new Map(held);
}

/**
 * Parses the ConfigMap's data. A holder without an entry under {@link membersKey}, or with a name
 * that none of our entries has, is a replica of Argo CD, which obeys no table. A document without
 * holders that we did not write counts as missing, because its holders may have been removed. A
 * holder with an entry only under our key still holds its slot: it did not remove the other entry
 * itself.
 */
export function parseSlots(data: Readonly<Record<string, unknown>>): ParseResult<SlotHolders> {
  const [text, extra] = [data[slotsKey], data[membersKey]];
  if (text === undefined || text === '') return { state: 'missing' };
  const known = parsed.find((each) => each.text === text && each.extra === extra);
  if (known !== undefined) return known.found;
  const found = parseTexts(text, extra);
  parsed.unshift({ text, extra, found });
  parsed.length = Math.min(parsed.length, maxCachedTexts);
  return found;
}

/** Two, because the watch and the next read deliver the same text. */
const maxCachedTexts = 2;
const parsed: { readonly text: unknown; readonly extra: unknown; readonly found: ParseResult<SlotHolders> }[] = [];

function parseTexts(text: unknown, extra: unknown): ParseResult<SlotHolders> {
  const list = parse(text);
  if (!Array.isArray(list)) return { state: 'broken', why: `${slotsKey} is not a JSON list` };
  const members = membersOf(extra);
  const names = new Set([...members.values()].map(({ holder }) => holder));
  const slots = new Map<number, SlotRecord>();
  for (const entry of list as readonly Json[]) {
    const read = readEntry(entry);
    if (typeof read === 'string') return { state: 'broken', why: `${slotsKey} ${read}` };
    const { slot, holder, heartbeat } = read;
    if (holder === '' || slots.has(slot)) continue;
    const member = members.get(slot);
    const foreign = { slot, holder, incarnation: `${foreignPrefix}${holder}`, renewals: heartbeat, acked: 0 };
    // The name of another of our holders is an edit by hand: no pod of Argo CD has it.
    const isOurs = member !== undefined && names.has(holder);
    slots.set(slot, { ...(isOurs ? member : foreign), heartbeat });
  }
  for (const [slot, member] of members) if (!slots.has(slot)) slots.set(slot, member);
  return slots.size === 0 && extra === undefined ? { state: 'missing' } : { state: 'ok', value: slots };
}

/** Reads one entry of Argo CD's list; returns a description of the error if it is invalid. */
function readEntry(entry: Json): Pick<SlotRecord, 'slot' | 'holder' | 'heartbeat'> | string {
  if (!isObject(entry)) return 'has an entry that is no object';
  const slot = entry['ShardNumber'];
  const holder = entry['ControllerName'] ?? '';
  if (!isWholeNumber(slot)) return 'has an entry without a shard number';
  if (!isSlot(slot)) return `has shard ${String(slot)}, and no shard may be ${maxSlots} or higher`;
  if (typeof holder !== 'string') return 'has an entry whose name is no text';
  const time = entry['HeartbeatTime'];
  const heartbeat = typeof time === 'string' ? Date.parse(time) : Number.NaN;
  return { slot, holder, heartbeat: Number.isFinite(heartbeat) ? heartbeat : 0 };
}

/** Formats the ConfigMap's data. Free slots below `count` are listed too, as Argo CD does. */
export function formatSlots(slots: SlotHolders, count: number): Readonly<Record<string, string>> {
  const numbers = new Set([...Array.from({ length: count }, (_, i) => i), ...slots.keys()]);
  const sorted = [...numbers].sort((a, b) => a - b);
  const list = sorted.map((slot) => {
    const record = slots.get(slot);
    // To Argo CD a released slot is free.
    const { holder = '', heartbeat = 0 } = record?.released === true ? {} : (record ?? {});
    const at = heartbeat <= 0 ? null : rfc3339(heartbeat);
    return { ShardNumber: slot, ControllerName: holder, HeartbeatTime: at };
  });
  const members = [...slots.values()]
    .filter((record) => !isForeign(record))
    .sort((a, b) => a.slot - b.slot)
    .map(({ load, landing, ...record }) => ({
      ...omit(record, 'heartbeat'),
      ...(load === undefined || load.size === 0 ? {} : { load: Object.fromEntries(load) }),
      ...(landing === undefined || landing.size === 0 ? {} : { landing: Object.fromEntries(landing) }),
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
    if (!isSlot(slot) || typeof holder !== 'string' || typeof incarnation !== 'string') continue;
    const load = loadOf(entry['load']);
    members.set(slot, {
      slot,
      holder,
      incarnation,
      // Out of bounds: the record of a holder that has acknowledged nothing, until it renews.
      renewals: isWholeNumber(renewals) ? renewals : 0,
      acked: isEpoch(acked) ? acked : 0,
      heartbeat: 0,
      ...protocolOf(entry),
      ...defined({ unreached: digestsOf(entry['unreached']), reaches: digestsOf(entry['reaches']) }),
      ...landingOf(entry),
      ...(load.size === 0 ? {} : { load }),
    });
  }
  return members;
}

/** Ignores a lease that no release uses, because it could block a slot for ever. */
function protocolOf({
  leaseMs,
  version,
  home,
  warm,
  sum,
  api,
}: Readonly<Partial<Record<'leaseMs' | 'version' | 'home' | 'warm' | 'sum' | 'api', Json>>>): Partial<SlotRecord> {
  const isLease = typeof leaseMs === 'number' && leaseMs > 0 && leaseMs <= longestLeaseMs;
  const isVersion = typeof version === 'number' && Number.isSafeInteger(version) && version > 0;
  const { place, pid, started } = isObject(home) ? home : {};
  const isHome = typeof place === 'string' && typeof pid === 'number';
  const hasStart = typeof started === 'number';
  return {
    ...(isLease ? { leaseMs } : {}),
    ...(isVersion ? { version } : {}),
    ...(isEpoch(warm) ? { warm } : {}),
    ...(typeof sum === 'string' && /^[0-9a-f]{16}$/.test(sum) ? { sum } : {}),
    ...(isHome ? { home: { place, pid, ...(hasStart ? { started } : {}) } } : {}),
    ...defined({ api: apiOf(api) }),
  };
}

/** Unreadable late writes may reach any server. */
function landingOf({
  released,
  landing,
}: Readonly<Partial<Record<'released' | 'landing', Json>>>): Pick<SlotRecord, 'released' | 'landing'> {
  const state = released === true ? ({ released } as const) : {};
  if (landing === undefined) return state;
  const times = isObject(landing) ? Object.entries(landing) : [[anyServer, longestLeaseMs] as const];
  const isTime = (ms: unknown): ms is number => typeof ms === 'number' && ms > 0 && ms <= longestLeaseMs;
  return { ...state, landing: new Map(times.map(([server, ms]) => [server, isTime(ms) ? ms : longestLeaseMs])) };
}

/** Ignores an invalid address, so no replica connects to it. */
function apiOf(value: Json | undefined): ApiAddress | undefined {
  const { address, fingerprint } = isObject(value) ? value : {};
  if (typeof address !== 'string' || typeof fingerprint !== 'string') return undefined;
  const isAddress = /^(?:\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-f:.]{2,45}\]):\d{1,5}$/.test(address);
  return isAddress && /^[0-9a-f]{64}$/.test(fingerprint) ? { address, fingerprint } : undefined;
}

/** Upper bound of a list of clusters in a record: 10 kB. All records share one ConfigMap. */
export const maxReachServers = 1000;
const digestPattern = /^[0-9a-z]{1,7}$/;

/** Undefined if there are none, or too many. */
function digestsOf(value: Json | undefined): readonly string[] | undefined {
  const items = Array.isArray(value) ? (value as readonly Json[]) : [];
  const list = items.filter((each) => typeof each === 'string' && digestPattern.test(each)) as readonly string[];
  return list.length === 0 || list.length > maxReachServers ? undefined : list;
}

/** Ignores invalid rates: they must not cost the holder its slot. */
function loadOf(value: Json | undefined): ReadonlyMap<string, number> {
  const rates = Object.entries(isObject(value) ? value : {});
  return new Map(rates.filter((rate): rate is [string, number] => isEventRate(rate[1])));
}

function parse(text: unknown): Json | undefined {
  if (typeof text !== 'string') return undefined;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}
