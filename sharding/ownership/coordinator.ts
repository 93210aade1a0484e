import { abortable, isAbort, messageOf, newAbortController, withDeadline } from '#base';
import type { Clock, RandomSource, Runnable, ClockTimer } from '#base';
import { isForbidden } from '#kube';
import type { KubeObject } from '#model';
import type { Logger } from '#telemetry';
import { isNewerEpoch } from '../documents/bounds.ts';
import { claimsKey, formatClaims, parseClaims } from '../documents/claims.ts';
import { isApparentlyNew } from '../protocol/member-types.ts';
import type { LocalInstant, WriteIntent, LocalState } from '../protocol/member-types.ts';
import type { ProtocolMember } from '../protocol/member.ts';
import { HubConfigMaps } from './config-maps.ts';
import type { ConfigMapData, ConfigMapRead, HubClient } from './config-maps.ts';
import type { LeaseMeters } from './metrics.ts';
import { movesBetween } from '../documents/moves.ts';
import { formatSlots, parseSlots, slotsConfigMap } from '../documents/slots-document.ts';
import type { ParseResult, SlotHolders, SlotRecord } from '../documents/slots-document.ts';
import { formatTable, parseTable, tableConfigMap } from '../documents/table-document.ts';
import type { TableDocument } from '../documents/table-document.ts';

export interface CoordinatorDeps {
  readonly client: HubClient;
  readonly namespace: string;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly logger: Logger;
  readonly member: ProtocolMember;
  readonly world: (leaving: boolean) => LocalState;
  readonly meters: Pick<LeaseMeters, 'wrote' | 'moved'>;
  /** Number of suspends of the machine so far: results that span a suspend are discarded. */
  readonly suspensions: () => number;
  /** Called after each read: ownership may have changed. */
  readonly onObservation: () => void;
  /** Milliseconds until writes to parts that were just released count as over; 0: they do. */
  readonly drainMs: () => number;
  /** Called after each completed turn, whether or not it wrote, and at the end of the run. */
  readonly onTurn: () => void;
  /** Reports a failure; `message` is undefined when it is over. */
  readonly report: (type: 'HubUnreadable' | 'SlotsUnreadable' | 'TableUnreadable', message: string | undefined) => void;
}

/** The last read of the table, which later reads of the slots alone are used with. */
interface TableRead {
  readonly table: ConfigMapRead<TableDocument>;
  readonly since: number;
  /** Number of suspends before it. */
  readonly suspended: number;
}

/** The versions that a write is based on. */
interface WriteBase {
  readonly table: ConfigMapRead<TableDocument>;
  readonly slots: ConfigMapRead<SlotHolders>;
  /** Number of suspends before it was read. */
  readonly suspended: number;
}

interface TurnManner {
  readonly signal: AbortSignal;
  readonly leaving: boolean;
}

/** The slots as the watch delivered them last. */
interface WatchedSlots {
  readonly slots: SlotHolders;
  readonly object: KubeObject;
  readonly at: number;
}

/** Polling interval while others must act first, in case the watch misses it. */
const minPollMs = 100;
const maxPollMs = 2000;
const maxHintDelayMs = 600;
/** Smaller fleets follow hints at once. */
const minHintDelayMs = 25;
const hubRetryMs = 500;
const forbiddenRetryMs = 5_000;
/** Longest time for which a table that was read is used without another read. */
const maxTableAgeMs = 5_000;
/** Deadline for releasing the slot at shutdown: a busy event loop needs several seconds for it. */
const releaseTimeoutMs = 7_000;

/**
 * Drives a {@link ProtocolMember}: reads the two ConfigMaps, carries out its writes with optimistic
 * concurrency, and sleeps in between. Failures are reported, logged once and retried for ever.
 * Without the hub the lease runs out, and this replica stops writing by its own clock.
 */
export class HubCoordinator implements Runnable {
  readonly name = 'ownership coordinator';
  readonly #deps: CoordinatorDeps;
  readonly #configMaps: HubConfigMaps;
  #nap = newAbortController();
  /** The ConfigMap that another replica has changed since the last turn began; `all`: any. */
  #woken: 'slots' | 'all' | undefined;
  #lastTable: TableRead | undefined;
  #soonMs = minPollMs;
  #hinted: ClockTimer | undefined;
  #hintsTable = false;
  /** Writes in a row that lost a race. */
  #conflicts = 0;
  #hasSlotsConflict = false;
  #watched: WatchedSlots | undefined;

  constructor(deps: CoordinatorDeps) {
    this.#deps = deps;
    this.#configMaps = new HubConfigMaps(deps);
  }

  /** Takes in slots from the watch, which may be newer than the read that a write is based on. */
  watched(slots: SlotHolders, object: KubeObject): void {
    this.#watched = { slots, object, at: this.instant().monotonic };
  }

  /** Something changed: read the hub at once. */
  wake(): void {
    this.#wakeFor('all');
  }

  #wakeFor(what: 'slots' | 'all'): void {
    this.#soonMs = minPollMs;
    if (this.#woken !== 'all') this.#woken = what;
    this.#nap.abort(woken);
  }

  /**
   * Another replica wrote. All replicas learn of it at once, so each of them reads after a random
   * delay that grows with the fleet. A settled replica that does not plan ignores changes of slots,
   * unless it plans now because the planner has left.
   */
  hint(what: 'slots' | 'table'): void {
    const { member, clock, random } = this.#deps;
    const now = this.instant();
    const plans = member.plans(now) || member.plans(now, this.#watched?.slots);
    if (what === 'slots' && !member.unsettled() && member.slot(now) !== undefined && !plans) return;
    this.#hintsTable ||= what === 'table';
    if (this.#hinted !== undefined) return;
    const spreadMs = Math.min(maxHintDelayMs, 3 * this.#crowd());
    // A timer costs a turn of a busy event loop.
    if (spreadMs < minHintDelayMs) this.#followHint();
    else this.#hinted = clock.timer(random.next() * spreadMs, () => this.#followHint());
  }

  #followHint(): void {
    this.#hinted = undefined;
    this.#wakeFor(this.#hintsTable ? 'all' : 'slots');
    this.#hintsTable = false;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const pauseMs = await this.#turn(signal, false);
      if (pauseMs > 0) await this.#sleep(pauseMs, signal);
    }
    this.#hinted?.cancel();
    await this.#leave();
  }

  instant(): LocalInstant {
    return { monotonic: this.#deps.clock.monotonic(), wall: this.#deps.clock.now() };
  }

  /** One read and at most one write. Returns the delay until the next turn. */
  async #turn(signal: AbortSignal, leaving: boolean): Promise<number> {
    const woken = this.#takeWoken(leaving);
    const { member, onObservation, onTurn, report, suspensions } = this.#deps;
    // Read the count first: other code may notice a suspend while a request is in flight.
    const suspended = suspensions();
    try {
      const last = this.#lastTable;
      const read = await this.#readTable(woken, suspended, { signal, leaving });
      const { since } = read;
      let { table } = read;
      const slotsSince = this.instant().monotonic;
      const slots = await this.#configMaps.read(slotsConfigMap, slotsOf, signal);
      if (isOutdated(read, last, slots.found)) {
        this.#lastTable = undefined;
        return 0;
      }
      const isEmpty = isApparentlyNew(table.found, slots.found);
      if (isEmpty) table = await this.#configMaps.read(tableConfigMap, parseTable, signal);
      if (suspensions() !== suspended) return 0;
      const now = this.instant();
      const isNew = isEmpty && table.found.state === 'missing';
      const claims = parseClaims((table.object as ConfigMapData | undefined)?.data);
      const found = { table: table.found, claims, slots: slots.found };
      member.observe({ ...found, since, slotsSince, until: now.monotonic, isNew }, now);
      onObservation();
      this.#reportBroken(table.found, slots.found);
      if (!leaving) await this.#drained(signal);
      const [intent, base] = await this.#nextWrite({ slots, slotsSince }, { signal, leaving });
      const won = intent === undefined || (await this.#write(intent, { table, slots: base, suspended }, signal));
      report('HubUnreadable', undefined);
      onTurn();
      if (!won) return this.#afterConflict(intent);
      this.#conflicts = 0;
      if (intent === undefined || this.#isRoutine(intent)) return this.#pause();
      this.#soonMs = minPollMs;
      return 0;
    } catch (error) {
      if (signal.aborted || isAbort(error)) return 0;
      this.#lastTable = undefined;
      return this.#failed(error);
    }
  }

  #takeWoken(leaving: boolean): 'slots' | 'all' | undefined {
    const woken = this.#woken ?? (this.#hasSlotsConflict || leaving ? 'slots' : undefined);
    [this.#woken, this.#hasSlotsConflict] = [undefined, false];
    return woken;
  }

  /** The next write, and the slots that it is based on. */
  async #nextWrite(
    { slots, slotsSince }: { readonly slots: ConfigMapRead<SlotHolders>; readonly slotsSince: number },
    { signal, leaving }: TurnManner,
  ): Promise<readonly [WriteIntent | undefined, ConfigMapRead<SlotHolders>]> {
    const { member, clock, world } = this.#deps;
    const intent = member.intent(world(leaving), this.instant());
    // Takes in what the watch has delivered to a busy event loop.
    if (intent?.write === 'slots' && (leaving || this.#conflicts > 0)) await clock.sleep(0, signal);
    return this.#onWatched(intent, slots, slotsSince);
  }

  /**
   * Bases a write of one record on the slots from the watch, if these came after the read was
   * sent and are newer: in a busy fleet the read is outdated when its response is handled.
   */
  #onWatched(
    intent: WriteIntent | undefined,
    read: ConfigMapRead<SlotHolders>,
    since: number,
  ): readonly [WriteIntent | undefined, ConfigMapRead<SlotHolders>] {
    const watched = this.#watched;
    if (intent?.write !== 'slots' || intent.own === undefined || watched === undefined) return [intent, read];
    const record = intent.slots.get(intent.own);
    const before = read.found.state === 'ok' ? read.found.value.get(intent.own) : undefined;
    const isSame = record !== undefined && isSameRecord(before, watched.slots.get(intent.own));
    if (!isSame || watched.at < since || !isLater(watched.object, read.object)) return [intent, read];
    const slots = new Map(watched.slots).set(intent.own, record);
    return [
      { ...intent, slots },
      { found: { state: 'ok', value: watched.slots }, object: watched.object },
    ];
  }

  /**
   * Reports a plain renewal, which needs no read afterwards. Without a table, as after a lapsed
   * lease, the hub is read again.
   */
  #isRoutine(intent: WriteIntent): boolean {
    const { member } = this.#deps;
    const isRenewal = intent.write === 'slots' && intent.why === 'renewal';
    return isRenewal && member.table() !== undefined && !member.plans(this.instant());
  }

  /** The first retry comes at once, because other replicas may wait for this write. */
  #afterConflict(intent: WriteIntent | undefined): number {
    this.#conflicts += 1;
    this.#hasSlotsConflict = intent?.write === 'slots';
    if (!this.#hasSlotsConflict) this.#lastTable = undefined;
    return this.#conflicts === 1 ? 0 : this.#jitter(20 + 10 * this.#crowd(), 0);
  }

  /**
   * Reads the table, unless only the slots have changed since: a table that is older than the slots
   * is like a read in which this process was stopped.
   */
  async #readTable(
    woken: 'slots' | 'all' | undefined,
    suspended: number,
    { signal, leaving }: TurnManner,
  ): Promise<TableRead> {
    const last = this.#lastTable;
    // Without a table to obey, one that was read before the claim does not help.
    const isWanted = woken === 'slots' && this.#deps.member.table() !== undefined;
    const isUsable = isWanted && last?.suspended === suspended && last.table.found.state === 'ok';
    if (isUsable && (leaving || this.instant().monotonic - last.since < maxTableAgeMs)) return last;
    this.#lastTable = undefined;
    const since = this.instant().monotonic;
    const table = await this.#configMaps.read(tableConfigMap, parseTable, signal);
    this.#lastTable = { table, since, suspended };
    return this.#lastTable;
  }

  /** Waits in the same turn, so that the acknowledgment of a release needs no other read. */
  async #drained(signal: AbortSignal): Promise<void> {
    const drainMs = this.#deps.drainMs();
    if (drainMs > 0) await this.#deps.clock.sleep(drainMs, signal);
  }

  #pause(): number {
    const { member } = this.#deps;
    const now = this.instant();
    if (!member.unsettled()) {
      this.#soonMs = minPollMs;
      return this.#jitter(member.idleMs(now), 1);
    }
    const pauseMs = Math.max(minPollMs, Math.min(this.#soonMs, member.idleMs(now)));
    this.#soonMs = Math.min(maxPollMs, 2 * this.#soonMs);
    return this.#jitter(pauseMs);
  }

  /** Returns false if another writer was faster. */
  async #write(intent: WriteIntent, { table, slots, suspended }: WriteBase, signal: AbortSignal): Promise<boolean> {
    const { logger, member, meters, suspensions } = this.#deps;
    const isSlots = intent.write === 'slots';
    const name = isSlots ? slotsConfigMap : tableConfigMap;
    const base = (isSlots ? slots : table).object;
    const content = contentOf(intent, (base ?? {}) as ConfigMapData);
    const label = intent.write === 'table' ? 'table' : intent.why;
    const sent = this.instant();
    try {
      const outcome = await this.#configMaps.write(name, base, content, signal);
      meters.wrote(label, outcome);
      if (outcome !== 'done') return false;
    } catch (error) {
      meters.wrote(label, 'failed');
      if (suspensions() === suspended) member.unanswered(intent, sent);
      throw error;
    }
    if (intent.write === 'table') meters.moved(movesBetween(member.hub().published(), intent.table));
    // The machine was suspended: it is unknown when the request was sent.
    if (suspensions() !== suspended) return false;
    member.wrote(intent, sent, this.instant());
    if (intent.write === 'table')
      logger.info('published the table of clusters', { epoch: intent.table.epoch, replicas: intent.table.replicas });
    else if (label !== 'renewal') logger.debug(`wrote ${isSlots ? 'the shard mapping' : 'the claims'}`, { why: label });
    return true;
  }

  #reportBroken(table: ParseResult<TableDocument>, slots: ParseResult<SlotHolders>): void {
    const { namespace, report } = this.#deps;
    const text = (name: string, found: ParseResult<unknown>): string | undefined =>
      found.state === 'broken'
        ? `ConfigMap ${namespace}/${name} cannot be read (${found.why}): it is rewritten; until all replicas are known again, some clusters have no owner`
        : undefined;
    report('SlotsUnreadable', text(slotsConfigMap, slots));
    report('TableUnreadable', text(tableConfigMap, table));
  }

  #failed(error: unknown): number {
    const { report, namespace } = this.#deps;
    const names = `${slotsConfigMap} and ${tableConfigMap}`;
    if (isForbidden(error)) {
      const help = `grant the controller get, create, update, delete, list and watch on ConfigMaps in namespace ${namespace} (${names})`;
      report('HubUnreadable', `no cluster can be owned without access to the hub: ${messageOf(error)}; ${help}`);
      return this.#jitter(forbiddenRetryMs);
    }
    report('HubUnreadable', `cannot reach the ConfigMaps ${names}, retrying: ${messageOf(error)}`);
    return this.#jitter(hubRetryMs);
  }

  /** Releases the slot, so that no replica has to wait until the lease runs out. */
  async #leave(): Promise<void> {
    const { clock, logger, member } = this.#deps;
    const never = newAbortController().signal;
    const deadline = { clock, limitMs: releaseTimeoutMs, what: 'releasing the shard' };
    await withDeadline(never, deadline, async (inner) => {
      while (!inner.aborted && member.slot(this.instant()) !== undefined) {
        const pauseMs = await this.#turn(inner, true);
        if (pauseMs > 0) await clock.sleep(Math.min(minPollMs, pauseMs), inner);
      }
    }).catch((error: unknown) => {
      logger.warn('could not release the shard: other replicas take it when the lease has run out', {
        error: messageOf(error),
      });
    });
    this.#deps.onTurn();
  }

  async #sleep(ms: number, signal: AbortSignal): Promise<void> {
    if (this.#woken !== undefined) return;
    const nap = newAbortController();
    this.#nap = nap;
    try {
      await abortable(this.#deps.clock.sleep(ms, nap.signal), signal);
    } catch (error) {
      if (error !== woken && !signal.aborted) throw error;
    } finally {
      nap.abort(woken);
    }
  }

  /** Number of replicas that may want to write at the same moment. */
  #crowd(): number {
    const { member, world } = this.#deps;
    const hub = member.hub();
    return Math.max(hub.holders().size, hub.published()?.replicas ?? 0, world(false).replicas ?? 0);
  }

  /** Random duration from `ms * least` to `1.1 * ms`. */
  #jitter(ms: number, least = 0.3): number {
    return ms * (least + this.#deps.random.next() * (1.1 - least));
  }
}

/** No renewal, claim or release lies between the two. */
function isSameRecord(a: SlotRecord | undefined, b: SlotRecord | undefined): boolean {
  return a?.incarnation === b?.incarnation && a?.renewals === b?.renewals && a?.released === b?.released;
}

function isLater(object: KubeObject, than: KubeObject | undefined): boolean {
  const [version = '', before = ''] = [object, than].map((each) => each?.metadata.resourceVersion);
  const areNumbers = [version, before].every((text) => /^\d{1,19}$/.test(text));
  return areNumbers && object.metadata.uid === than?.metadata.uid && BigInt(version) > BigInt(before);
}

/** One shared instance, because each new error captures a stack, which is never read here. */
const woken = new (class extends Error {})();

/**
 * Builds a ConfigMap's new data from an intent. Keys of others stay beside the slots; the table and
 * the claims share a ConfigMap.
 */
function contentOf(intent: WriteIntent, { data, binaryData }: ConfigMapData): ConfigMapData {
  if (intent.write === 'slots') return { data: { ...data, ...formatSlots(intent.slots, intent.count) }, binaryData };
  const claims = formatClaims(intent.claims);
  if (intent.write === 'claims') return { data: { ...data, [claimsKey]: undefined, ...claims }, binaryData };
  const table = formatTable(intent.table);
  return { data: { ...table.data, ...claims }, binaryData: table.binaryData };
}

/**
 * Reports whether the slots show that the ConfigMap of a table from an earlier read has changed: a
 * newer table was acknowledged, or a slot was released, whose claim is removed first.
 */
function isOutdated(read: TableRead, last: TableRead | undefined, slots: ParseResult<SlotHolders>): boolean {
  const { found, object } = read.table;
  if (read !== last || found.state !== 'ok' || slots.state !== 'ok') return false;
  const claims = parseClaims((object as ConfigMapData | undefined)?.data);
  const isReleased = [...claims.keys()].some((slot) => !slots.value.has(slot));
  return isReleased || [...slots.value.values()].some(({ acked }) => isNewerEpoch(acked, found.value.epoch));
}

function slotsOf({ data = {} }: ConfigMapData): ParseResult<SlotHolders> {
  return parseSlots(data);
}
