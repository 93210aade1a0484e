import { abortable, isAbort, messageOf, newAbortController, withDeadline } from '#base';
import type { Clock, Random, Runnable, Timer } from '#base';
import { apiResource, isAlreadyExists, isConflict, isForbidden, isNotFound } from '#kube';
import type { KubeClient } from '#kube';
import type { KubeObject } from '#model';
import type { Logger } from '#telemetry';
import { claimsKey, formatClaims, parseClaims } from './claims.ts';
import { looksNew } from './member-types.ts';
import type { Instant, Intent, World } from './member-types.ts';
import type { Member } from './member.ts';
import type { LeaseMeters } from './metrics.ts';
import { movesBetween } from './moves.ts';
import { formatSlots, parseSlots, slotsConfigMap } from './slots-document.ts';
import type { Found, Slots } from './slots-document.ts';
import { formatTable, parseTable, tableConfigMap } from './table-document.ts';
import type { TableDocument } from './table-document.ts';

export type HubClient = Pick<KubeClient, 'get' | 'create' | 'replace'>;

export interface CoordinatorDeps {
  readonly client: HubClient;
  readonly namespace: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly member: Member;
  readonly world: (leaving: boolean) => World;
  readonly meters: Pick<LeaseMeters, 'wrote' | 'moved'>;
  /** How often the machine was suspended so far, up to this moment: what was under way across a suspend is worth nothing. */
  readonly suspensions: () => number;
  /** After each look: ownership may be different now. */
  readonly onObservation: () => void;
  /** After what a look led to. */
  readonly onTurn: () => void;
  /** What goes wrong; undefined when it is over. */
  readonly report: (type: 'HubUnreadable' | 'SlotsUnreadable' | 'TableUnreadable', message: string | undefined) => void;
}

interface Read<T> {
  readonly found: Found<T>;
  readonly object: KubeObject | undefined;
}

/** What a write is based upon. */
interface Seen {
  readonly table: Read<TableDocument>;
  readonly slots: Read<Slots>;
  /** How often the machine had been suspended before it was read. */
  readonly suspended: number;
}

const configMap = apiResource('v1', 'ConfigMap', 'configmaps', 'namespaced');
/** A request of the protocol that takes longer is worth less than a new one. */
const requestMs = 5_000;
/** While others must act before us: their doing so comes by the watch, and these looks are for when it does not. */
const soonMs = 100;
const mostSoonMs = 2000;
const mostSpreadMs = 600;
const retryMs = 500;
const forbiddenRetryMs = 5_000;
/** How long giving the slot back may take at the end. */
const leaveMs = 3_000;

/**
 * Drives a {@link Member}: reads the two ConfigMaps, writes what it wants with optimistic concurrency, and sleeps in between. Failures are
 * reported, logged once, and tried again for ever; without the hub the lease runs out, and this replica stops writing by its own clock.
 */
export class Coordinator implements Runnable {
  readonly name = 'ownership coordinator';
  readonly #deps: CoordinatorDeps;
  #nap = newAbortController();
  #woken = false;
  #soonMs = soonMs;
  #hinted: Timer | undefined;

  constructor(deps: CoordinatorDeps) {
    this.#deps = deps;
  }

  /** Look at the hub at once: something has changed. */
  wake(): void {
    this.#soonMs = soonMs;
    this.#woken = true;
    this.#nap.abort(woken);
  }

  /**
   * Somebody else has written. All replicas hear that at once, so each looks a little later, the more the more there are. Who has all that it
   * should have, and does not plan, need not care who holds what.
   */
  hint(what: 'slots' | 'table'): void {
    const { member, clock, random } = this.#deps;
    const now = this.instant();
    const cares = what === 'table' || member.unsettled() || member.slot(now) === undefined || member.plans(now);
    if (!cares || this.#hinted !== undefined) return;
    const spreadMs = Math.min(mostSpreadMs, 3 * this.#crowd());
    this.#hinted = clock.timer(random.next() * spreadMs, () => {
      this.#hinted = undefined;
      this.wake();
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const pauseMs = await this.#turn(signal, false);
      if (pauseMs > 0) await this.#sleep(pauseMs, signal);
    }
    this.#hinted?.cancel();
    await this.#leave();
  }

  instant(): Instant {
    return { monotonic: this.#deps.clock.monotonic(), wall: this.#deps.clock.now() };
  }

  /** One look and at most one write; returns how long to wait for the next. */
  async #turn(signal: AbortSignal, leaving: boolean): Promise<number> {
    this.#woken = false;
    const { member, onObservation, onTurn, report, suspensions } = this.#deps;
    // Somebody else may have noticed a suspend before the answer to what was sent before it arrives.
    const suspended = suspensions();
    try {
      const since = this.instant().monotonic;
      let table = await this.#read(tableConfigMap, parseTable, signal);
      const slotsSince = this.instant().monotonic;
      const slots = await this.#read(slotsConfigMap, slotsOf, signal);
      const isEmpty = looksNew(table.found, slots.found);
      if (isEmpty) table = await this.#read(tableConfigMap, parseTable, signal);
      if (suspensions() !== suspended) return 0;
      const now = this.instant();
      const isNew = isEmpty && table.found.state === 'missing';
      const claims = parseClaims((table.object as Data | undefined)?.data);
      const found = { table: table.found, claims, slots: slots.found };
      member.observe({ ...found, since, slotsSince, until: now.monotonic, isNew }, now);
      onObservation();
      this.#reportBroken(table.found, slots.found);
      const intent = member.intent(this.#deps.world(leaving), this.instant());
      const won = intent === undefined || (await this.#write(intent, { table, slots, suspended }, signal));
      report('HubUnreadable', undefined);
      onTurn();
      if (!won) return this.#jitter(20 + 10 * this.#crowd(), 0);
      if (intent === undefined || this.#isRoutine(intent)) return this.#pause();
      this.#soonMs = soonMs;
      return 0;
    } catch (error) {
      if (signal.aborted || isAbort(error)) return 0;
      return this.#failed(error);
    }
  }

  /** Nothing but a sign of life: there is nothing to look at afterwards. Who renewed a lapsed lease has no table, and must look. */
  #isRoutine(intent: Intent): boolean {
    const { member } = this.#deps;
    const isRenewal = intent.write === 'slots' && intent.why === 'renewal';
    return isRenewal && member.table() !== undefined && !member.plans(this.instant());
  }

  #pause(): number {
    const { member } = this.#deps;
    const now = this.instant();
    if (!member.unsettled()) {
      this.#soonMs = soonMs;
      return this.#jitter(member.idleMs(now), 1);
    }
    const pauseMs = Math.max(soonMs, Math.min(this.#soonMs, member.idleMs(now)));
    this.#soonMs = Math.min(mostSoonMs, 2 * this.#soonMs);
    return this.#jitter(pauseMs);
  }

  async #read<T>(name: string, parse: (object: Data) => Found<T>, signal: AbortSignal): Promise<Read<T>> {
    try {
      const object = await this.#limited(signal, (inner) =>
        this.#deps.client.get(configMap, { namespace: this.#deps.namespace, name }, { signal: inner }),
      );
      return { found: parse(object as Data), object };
    } catch (error) {
      if (isNotFound(error)) return { found: { state: 'missing' }, object: undefined };
      throw error;
    }
  }

  /** False: somebody was faster. */
  async #write(intent: Intent, { table, slots, suspended }: Seen, signal: AbortSignal): Promise<boolean> {
    const { client, namespace, logger, member, meters } = this.#deps;
    const isSlots = intent.write === 'slots';
    const name = isSlots ? slotsConfigMap : tableConfigMap;
    const base = (isSlots ? slots : table).object;
    const content = contentOf(intent, (base ?? {}) as Data);
    const label = intent.write === 'table' ? 'table' : intent.why;
    const sent = this.instant();
    try {
      await this.#limited(signal, async (inner) => {
        if (base !== undefined) {
          await client.replace(configMap, { ...base, ...content }, { signal: inner });
          return;
        }
        const fresh = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace, name }, ...content };
        await client.create(configMap, fresh, { signal: inner });
      });
    } catch (error) {
      const isBeaten = isConflict(error) || isAlreadyExists(error) || isNotFound(error);
      meters.wrote(label, isBeaten ? 'conflict' : 'failed');
      if (isBeaten) return false;
      throw error;
    }
    meters.wrote(label, 'done');
    if (intent.write === 'table') meters.moved(movesBetween(member.hub().published(), intent.table));
    // It was sent nobody knows how long ago.
    if (this.#deps.suspensions() !== suspended) return false;
    member.wrote(intent, sent, this.instant());
    if (intent.write === 'table')
      logger.info('published the table of clusters', { epoch: intent.table.epoch, replicas: intent.table.replicas });
    else if (label !== 'renewal') logger.debug(`wrote ${isSlots ? 'the shard mapping' : 'the claims'}`, { why: label });
    return true;
  }

  #limited<T>(signal: AbortSignal, body: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const what = 'reading or writing the ownership ConfigMaps';
    return withDeadline(signal, { clock: this.#deps.clock, limitMs: requestMs, what }, body);
  }

  #reportBroken(table: Found<TableDocument>, slots: Found<Slots>): void {
    const { namespace, report } = this.#deps;
    const text = (name: string, found: Found<unknown>): string | undefined =>
      found.state === 'broken'
        ? `ConfigMap ${namespace}/${name} cannot be read (${found.why}): it is written anew; until all replicas are known again, some clusters wait`
        : undefined;
    report('SlotsUnreadable', text(slotsConfigMap, slots));
    report('TableUnreadable', text(tableConfigMap, table));
  }

  #failed(error: unknown): number {
    const { report, namespace } = this.#deps;
    const names = `${slotsConfigMap} and ${tableConfigMap}`;
    if (isForbidden(error)) {
      const help = `the controller's role needs get, create, update, list and watch on ConfigMaps in namespace ${namespace} (${names})`;
      report('HubUnreadable', `no ownership without access: ${messageOf(error)}; ${help}`);
      return this.#jitter(forbiddenRetryMs);
    }
    report('HubUnreadable', `cannot reach the ConfigMaps ${names}, trying again: ${messageOf(error)}`);
    return this.#jitter(retryMs);
  }

  /** Gives the slot back, so that nobody has to wait until the lease runs out. */
  async #leave(): Promise<void> {
    const { clock, logger, member } = this.#deps;
    const never = newAbortController().signal;
    const deadline = { clock, limitMs: leaveMs, what: 'giving the shard back' };
    await withDeadline(never, deadline, async (inner) => {
      while (!inner.aborted && member.slot(this.instant()) !== undefined)
        await clock.sleep(Math.max(10, Math.min(soonMs, await this.#turn(inner, true))), inner);
    }).catch((error: unknown) => {
      logger.warn('could not give the shard back: others take it when the lease has run out', {
        error: messageOf(error),
      });
    });
    this.#deps.onTurn();
  }

  async #sleep(ms: number, signal: AbortSignal): Promise<void> {
    if (this.#woken) return;
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

  /** How many replicas may want to write at the same moment. */
  #crowd(): number {
    const { member, world } = this.#deps;
    const hub = member.hub();
    return Math.max(hub.holders().size, hub.published()?.replicas ?? 0, world(false).replicas ?? 0);
  }

  /** From `ms * least` to `ms` and a tenth. */
  #jitter(ms: number, least = 0.3): number {
    return ms * (least + this.#deps.random.next() * (1.1 - least));
  }
}

/** One for all: to make an error means to walk the stack, and nobody reads it. */
const woken = new (class extends Error {})();

interface Data {
  readonly data?: Readonly<Record<string, unknown>> | undefined;
  readonly binaryData?: Readonly<Record<string, unknown>> | undefined;
}

/** What becomes of a ConfigMap's data; keys that are not ours stay in the slots, and the table stays beside the claims. */
function contentOf(intent: Intent, { data, binaryData }: Data): Data {
  if (intent.write === 'slots')
    return { data: { ...data, ...formatSlots(intent.slots, intent.count) }, binaryData: undefined };
  const claims = formatClaims(intent.claims);
  if (intent.write === 'claims') return { data: { ...data, [claimsKey]: undefined, ...claims }, binaryData };
  const table = formatTable(intent.table);
  return { data: { ...table.data, ...claims }, binaryData: table.binaryData };
}

function slotsOf({ data = {} }: Data): Found<Slots> {
  return parseSlots(data);
}
