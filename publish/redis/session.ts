import { inSlices, OwnershipLost, withChild, withDeadline } from '#base';
import type { Clock } from '#base';
import type { Logger } from '#telemetry';
import type { Document, Documents, StoredValue } from './documents.ts';
import { joinSteps } from './encode.ts';
import { StoreError } from './link.ts';
import type { RedisLink } from './link.ts';
import type { StoreMetrics } from './metrics.ts';
import type { StoreState } from './state.ts';

export interface SessionDeps {
  readonly documents: Documents;
  readonly state: StoreState;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: StoreMetrics;
  readonly tellLost: (instance: string) => void;
}

/** How long one write may take before the connection counts as dead. */
const writeMs = 5000;
/** How often the store is asked whether it still has what was written, and what expires soon is looked for. */
const probeMs = 2000;
/** Documents whose keys are asked for at once. */
const probeSize = 64;
/** Documents that are written at once. */
const mostWrites = 16;

/** A key, and what is sent for it. */
interface Ready {
  readonly key: string;
  readonly bytes: Buffer;
}

/** The work on one open connection: writes what is dirty, and looks whether what was written is still there. */
export class Session {
  readonly #link: RedisLink;
  readonly #deps: SessionDeps;
  /** Where the walk over what is stored stands. */
  #cursor: Iterator<Document, unknown> | undefined;
  /** The store refused a write: the next one is tried after the next look. */
  #paused = false;
  #mayCount = true;
  #work = true;
  #wakeFlush: () => void = () => undefined;

  constructor(link: RedisLink, deps: SessionDeps) {
    this.#link = link;
    this.#deps = deps;
  }

  /** There is something to write. */
  wake(): void {
    this.#work = true;
    this.#wakeFlush();
  }

  /** Until the connection ends, or `signal` aborts. Always rejects. */
  async run(signal: AbortSignal, onBegin: () => void): Promise<never> {
    const over = new StoreError('connection', 'the connection was closed');
    try {
      this.#tellLost();
      if (this.#deps.documents.waiting === 0) this.#deps.state.works();
      onBegin();
      return await withChild(signal, (inner, abort) =>
        Promise.race([this.#link.ended, this.#flush(inner), this.#watch(inner)]).finally(() => abort(over)),
      );
    } finally {
      this.#link.close(over);
    }
  }

  /** Several at once, none of a document that is on its way: a value whose right to be written takes long holds no other up. */
  async #flush(signal: AbortSignal): Promise<never> {
    const { documents, state } = this.#deps;
    const under = new Set<string>();
    const failures: Error[] = [];
    const start = async (document: Document): Promise<void> => {
      const { id } = document.subject;
      under.add(id);
      await this.#write(document, signal).catch((error: unknown) => void failures.push(error as Error));
      under.delete(id);
      this.wake();
    };
    for (;;) {
      signal.throwIfAborted();
      const [failure] = failures;
      if (failure !== undefined) throw failure;
      // One at a time while the store refuses: the first one that it takes opens the way for the others.
      const width = state.takesWrites ? mostWrites : 1;
      const next = this.#paused ? [] : documents.next(width - under.size, under);
      for (const document of next) void start(document);
      await this.#woken(signal);
    }
  }

  async #write(document: Document, signal: AbortSignal): Promise<void> {
    const { documents, state, clock } = this.#deps;
    // As they are now: while the right to write is asked for, they may be given up for memory.
    const [values, { fence }] = [documents.begin(document), document];
    try {
      const what = `writing ${document.subject.id} to Redis`;
      await withDeadline(signal, { clock, limitMs: writeMs, what }, async (limited) => {
        const ready = await this.#joined(values, limited);
        await fence((inner) => this.#send(document, ready, inner));
      });
      documents.written(document, values, clock.monotonic());
      state.works();
    } catch (error) {
      if (error instanceof OwnershipLost) {
        documents.drop(document);
        return;
      }
      if (!isRefusal(error)) throw error;
      documents.failed(document);
      documents.wakeAll();
      this.#paused = true;
      state.fails(error);
    }
  }

  /** What is to be sent, in one piece each. */
  async #joined(values: readonly StoredValue[], signal: AbortSignal): Promise<readonly Ready[]> {
    const ready: Ready[] = [];
    for (const { key, pieces } of values)
      ready.push({ key, bytes: await inSlices(joinSteps(pieces), this.#deps, signal) });
    return ready;
  }

  /** What is sent cannot be taken back: the signal, which aborts when the right to write ends, is looked at before each command. */
  async #send(
    { subject, content, surplus, news }: Document,
    values: readonly Ready[],
    signal: AbortSignal,
  ): Promise<void> {
    signal.throwIfAborted();
    // The first part, which says how many there are, goes last.
    await Promise.all(values.toReversed().map(({ key, bytes }) => this.#link.set(key, bytes, content.ttlMs)));
    signal.throwIfAborted();
    if (surplus.length > 0) await this.#link.delete(surplus);
    signal.throwIfAborted();
    if (subject.channel !== undefined && news) await this.#announce(subject.channel);
  }

  /** Readers who are not told look again by themselves: a user who may not publish is no reason to stop. */
  async #announce(channel: string): Promise<void> {
    try {
      await this.#link.publish(channel);
    } catch (error) {
      if (!isRefusal(error)) throw error;
    }
  }

  async #watch(signal: AbortSignal): Promise<never> {
    const { documents, clock, state } = this.#deps;
    for (;;) {
      await clock.sleep(probeMs, signal);
      documents.renew(clock.monotonic());
      await withDeadline(signal, { clock, limitMs: writeMs, what: 'asking Redis' }, () => this.#probe());
      this.#tellLost();
      if (documents.waiting === 0) state.works();
      this.#paused = false;
      this.wake();
    }
  }

  /** Looks whether some of what was written is there; as long as something is missing, it goes on to the next. */
  async #probe(): Promise<void> {
    for (let slices = Math.ceil(this.#deps.documents.size / probeSize); slices > 0 && this.#mayCount; slices -= 1) {
      const slice = this.#slice();
      if (slice.length === 0) break;
      const there = await this.#count(slice);
      const expected = slice.reduce((sum, { content }) => sum + content.keys.length, 0);
      if (there === undefined || there === expected) return;
      await Promise.all(slice.map((document) => this.#look(document)));
    }
    await this.#link.ping();
  }

  async #look(document: Document): Promise<void> {
    const there = await this.#count([document]);
    if (there === undefined || there === document.content.keys.length) return;
    this.#deps.documents.lost(document);
    this.#deps.metrics.lost();
  }

  /** Undefined when this user may not ask. */
  async #count(documents: readonly Document[]): Promise<number | undefined> {
    try {
      return await this.#link.count(documents.flatMap(({ content }) => content.keys));
    } catch (error) {
      if (!isRefusal(error)) throw error;
      if (error.fault !== 'forbidden') return undefined;
      this.#mayCount = false;
      this.#deps.logger.warn(
        'Redis does not let this user ask whether keys exist (EXISTS): a flush is noticed only when values are renewed',
        { reason: error.message },
      );
      return undefined;
    }
  }

  #slice(): readonly Document[] {
    const { documents } = this.#deps;
    this.#cursor ??= documents.all()[Symbol.iterator]();
    const slice: Document[] = [];
    while (slice.length < probeSize) {
      const next = this.#cursor.next();
      if (next.done === true) {
        this.#cursor = undefined;
        break;
      }
      if (!next.value.dirty) slice.push(next.value);
    }
    return slice;
  }

  #tellLost(): void {
    const gone = this.#deps.documents.takeGone();
    const instances = new Set(gone.flatMap(({ subject }) => subject.instance ?? []));
    for (const instance of instances) this.#deps.tellLost(instance);
  }

  async #woken(signal: AbortSignal): Promise<void> {
    if (!this.#work) {
      await new Promise<void>((resolve, reject) => {
        const onAbort = (): void => reject(signal.reason as Error);
        this.#wakeFlush = () => {
          signal.removeEventListener('abort', onAbort);
          resolve();
        };
        signal.addEventListener('abort', onAbort, { once: true });
      });
    }
    this.#work = false;
  }
}

/** The store answered, and not as wished: other writes, or the same one later, may do. */
function isRefusal(error: unknown): error is StoreError {
  return error instanceof StoreError && error.fault !== 'connection' && error.fault !== 'auth';
}
