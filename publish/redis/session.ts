import { inSlices, OwnershipLost, withChild, withDeadline } from '#base';
import type { Clock } from '#base';
import type { Logger } from '#telemetry';
import type { PublishedDocument, DocumentStore, StoredValue } from './documents.ts';
import { joinSteps } from './encode.ts';
import { isTransient, StoreError } from './link.ts';
import type { RedisLink } from './link.ts';
import type { StoreMetrics } from './metrics.ts';
import type { StoreState } from './state.ts';

export interface SessionDeps {
  readonly documents: DocumentStore;
  readonly state: StoreState;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: StoreMetrics;
  /** Retries of a write that the store refuses for the moment. */
  readonly retries: number;
  readonly tellLost: (instance: string) => void;
}

/** Deadline of a write, after which the connection counts as dead. */
const writeTimeoutMs = 5000;
/** Interval for checking written keys and for renewals. */
const probeIntervalMs = 2000;
/** Documents checked at once. */
const probeBatchSize = 64;
/** Maximum parallel writes. */
const maxParallelWrites = 16;
/** Delay before a retry, which doubles, as in go-redis. */
const retryDelay = { firstMs: 8, mostMs: 512 };

/** A key and its bytes. */
interface EncodedKey {
  readonly key: string;
  readonly bytes: Buffer;
}

/**
 * Work on one open connection: writes dirty documents, and checks that written ones still exist.
 */
export class RedisSession {
  readonly #link: RedisLink;
  readonly #deps: SessionDeps;
  /** Position of the walk over stored documents. */
  #cursor: Iterator<PublishedDocument, unknown> | undefined;
  /** The store refused a write: try again after the next check. */
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

  /** Runs until the connection ends or `signal` aborts. Always rejects. */
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

  /**
   * Writes documents in parallel, each only once at a time: a value that waits for its fence blocks
   * no other.
   */
  async #flush(signal: AbortSignal): Promise<never> {
    const { documents, state } = this.#deps;
    const under = new Set<string>();
    const failures: Error[] = [];
    const start = async (document: PublishedDocument): Promise<void> => {
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
      // One at a time while the store refuses: its first success resumes the others.
      const width = state.takesWrites ? maxParallelWrites : 1;
      const next = this.#paused ? [] : documents.next(width - under.size, under);
      for (const document of next) void start(document);
      await this.#woken(signal);
    }
  }

  async #write(document: PublishedDocument, signal: AbortSignal): Promise<void> {
    const { documents, state, clock } = this.#deps;
    // Read the values before waiting for the fence: they may be evicted meanwhile.
    const [values, { fence }] = [documents.begin(document), document];
    try {
      const what = `writing ${document.subject.id} to Redis`;
      await withDeadline(signal, { clock, limitMs: writeTimeoutMs, what }, async (limited) => {
        const ready = await this.#joined(values, limited);
        await fence((inner, check) =>
          this.#sendRepeatedly(
            document,
            ready,
            () => {
              inner.throwIfAborted();
              check?.();
            },
            inner,
          ),
        );
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

  /** The values to send, joined. */
  async #joined(values: readonly StoredValue[], signal: AbortSignal): Promise<readonly EncodedKey[]> {
    const ready: EncodedKey[] = [];
    for (const { key, pieces } of values)
      ready.push({ key, bytes: await inSlices(joinSteps(pieces), this.#deps, signal) });
    return ready;
  }

  async #sendRepeatedly(
    document: PublishedDocument,
    values: readonly EncodedKey[],
    check: () => void,
    signal: AbortSignal,
  ): Promise<void> {
    for (let delayMs = retryDelay.firstMs, left = this.#deps.retries; ; left -= 1) {
      try {
        await this.#send(document, values, check);
        return;
      } catch (error) {
        if (left <= 0 || !(error instanceof StoreError) || !isTransient(error)) throw error;
        await this.#deps.clock.sleep(delayMs, signal);
        delayMs = Math.min(retryDelay.mostMs, delayMs * 2);
      }
    }
  }

  /**
   * A sent command cannot be recalled: check the right to write before each one.
   */
  async #send(
    { subject, content, surplus, news }: PublishedDocument,
    values: readonly EncodedKey[],
    check: () => void,
  ): Promise<void> {
    check();
    // The first part has the number of parts and is written last.
    await Promise.all(values.toReversed().map(({ key, bytes }) => this.#link.set(key, bytes, content.ttlMs)));
    check();
    if (surplus.length > 0) await this.#link.delete(surplus);
    check();
    if (subject.channel !== undefined && news) await this.#announce(subject.channel);
  }

  /** Readers also poll: a user without permission to publish is no reason to stop. */
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
      await clock.sleep(probeIntervalMs, signal);
      documents.renew(clock.monotonic());
      await withDeadline(signal, { clock, limitMs: writeTimeoutMs, what: 'asking Redis' }, () => this.#probe());
      this.#tellLost();
      if (documents.waiting === 0) state.works();
      this.#paused = false;
      this.wake();
    }
  }

  /** Checks a sample of written keys; continues while keys are missing. */
  async #probe(): Promise<void> {
    for (
      let slices = Math.ceil(this.#deps.documents.size / probeBatchSize);
      slices > 0 && this.#mayCount;
      slices -= 1
    ) {
      const slice = this.#slice();
      if (slice.length === 0) break;
      const there = await this.#count(slice);
      const expected = slice.reduce((sum, { content }) => sum + content.keys.length, 0);
      if (there === undefined || there === expected) return;
      await Promise.all(slice.map((document) => this.#look(document)));
    }
    await this.#link.ping();
  }

  async #look(document: PublishedDocument): Promise<void> {
    const there = await this.#count([document]);
    if (there === undefined || there === document.content.keys.length) return;
    this.#deps.documents.lost(document);
    this.#deps.metrics.lost();
  }

  /** Undefined without permission. */
  async #count(documents: readonly PublishedDocument[]): Promise<number | undefined> {
    try {
      return await this.#link.count(documents.flatMap(({ content }) => content.keys));
    } catch (error) {
      if (!isRefusal(error)) throw error;
      if (error.fault !== 'forbidden') return undefined;
      this.#mayCount = false;
      this.#deps.logger.warn(
        'Redis does not permit EXISTS for this user: a flush is detected only when values are renewed; grant the command to detect it at once',
        { reason: error.message },
      );
      return undefined;
    }
  }

  #slice(): readonly PublishedDocument[] {
    const { documents } = this.#deps;
    this.#cursor ??= documents.all()[Symbol.iterator]();
    const slice: PublishedDocument[] = [];
    while (slice.length < probeBatchSize) {
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

/** The store refused the request: other writes, or the same one later, may succeed. */
function isRefusal(error: unknown): error is StoreError {
  return error instanceof StoreError && error.fault !== 'connection' && error.fault !== 'auth';
}
