import { hashText, isAbort, KeyedMutex, newAbortController, withDeadline } from '#base';
import type { Clock, DeadlineOptions, RandomSource } from '#base';
import type { Logger } from '#telemetry';
import type { ApplicationTree, ClusterReport, ManagedResource, Publisher, PublishTerms } from '../types.ts';
import { DocumentStore } from './documents.ts';
import type { PublishedDocument, DocumentSubject } from './documents.ts';
import { encode, hashOfAll } from './encode.ts';
import { clusterInfoPart, managedResourcesPart, treeParts } from './json.ts';
import { RedisKeys } from './keys.ts';
import type { KeyOptions } from './keys.ts';
import type { OpenLink } from './link.ts';
import type { StoreMetrics } from './metrics.ts';
import { PublishPace } from './pace.ts';
import type { DocumentPart } from './runs.ts';
import { RedisSession } from './session.ts';
import { StoreState } from './state.ts';

export interface RedisPublisherOptions extends KeyOptions {
  /** Time to live of trees and managed resources. Undefined: they are not stored. */
  readonly appStateTtlMs: number | undefined;
  /** Items of a tree per key; 0: no limit. */
  readonly treeShardSize: number;
  /** Retries of a write that Redis refuses for the moment, before it counts as down. */
  readonly retries: number;
  /** Maximum bytes of published values kept in memory, compressed. */
  readonly maxBytes: number;
}

export interface RedisPublisherDeps {
  readonly open: OpenLink;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly logger: Logger;
  readonly metrics: StoreMetrics;
}

/** Maximum time that a pass waits for its write. */
const maxWriteWaitMs = 2000;
const openMs = 10_000;
const backoff = { firstMs: 250, mostMs: 2000 };
/** A session that lasted this long shows that the store works: reconnect soon. */
const steadySessionMs = 2000;
/** Argo CD's time to live of cluster infos. */
const clusterTtlMs = 600_000;
/** Interval for writing a cluster info in which only times changed. */
const clusterHeartbeatMs = 60_000;
/** Minimum interval between versions of a value that may wait. */
const paceIntervalMs = 500;

/**
 * Keeps Redis equal to the published values, like a controller: {@link DocumentStore} has desired
 * and known state, and a loop writes the difference. After another server process (run id) answers,
 * everything is written again; a sample of keys is counted every two seconds, which finds a flush
 * at once and evicted keys in minutes. Only runs and keys that changed are built and written
 * ({@link encode}), bursts twice a second. Source: Argo CD util/cache, util/cache/appstate.
 * Differences: stored means confirmed; unchanged trees are not announced; surplus parts are
 * deleted; edits within 0.5 s may be one write.
 */
export class RedisPublisher implements Publisher {
  readonly name = 'publisher';
  readonly #deps: RedisPublisherDeps;
  readonly #options: RedisPublisherOptions;
  readonly #keys: RedisKeys;
  readonly #documents: DocumentStore;
  /** Values of one application are built and put in publishing order. */
  readonly #order = new KeyedMutex<string>();
  readonly #listeners = new Set<(instance: string) => void>();
  readonly #state: StoreState;
  readonly #pace: PublishPace;
  /** Lifetime of values that are published with a delay. */
  readonly #life = newAbortController();
  #session: RedisSession | undefined;
  #runId = '';
  #tried: () => void = () => undefined;
  readonly #firstTry = new Promise<void>((resolve) => {
    this.#tried = resolve;
  });

  constructor(deps: RedisPublisherDeps, options: RedisPublisherOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#keys = new RedisKeys(options);
    this.#documents = new DocumentStore({ maxBytes: options.maxBytes, random: deps.random });
    this.#state = new StoreState(deps);
    this.#pace = new PublishPace(deps.clock, paceIntervalMs);
    deps.metrics.show({
      up: () => this.#state.takesWrites,
      waiting: () => this.#documents.waiting,
      bytes: () => this.#documents.bytes,
    });
  }

  /**
   * Resolves after the first connection attempt, so that the first values can wait for their write.
   */
  async ready(signal: AbortSignal): Promise<void> {
    await withDeadline(signal, this.#limit(openMs * 2, 'the first connection to Redis'), () => this.#firstTry);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#deps;
    let delayMs = backoff.firstMs;
    for (;;) {
      const began = clock.monotonic();
      const ended = await this.#connected(signal).catch((error: unknown) => error);
      this.#tried();
      this.#documents.wakeAll();
      if (signal.aborted) {
        this.#pace.stop();
        this.#life.abort(signal.reason);
        return;
      }
      this.#state.fails(ended);
      if (clock.monotonic() - began > steadySessionMs) delayMs = backoff.firstMs;
      await clock.sleep(delayMs * (0.75 + random.next() / 2), signal).catch(() => undefined);
      delayMs = Math.min(backoff.mostMs, delayMs * 2);
    }
  }

  setTree(instance: string, tree: ApplicationTree, terms: PublishTerms): Promise<void> {
    const subject = this.#treeSubject(instance);
    const key = (part: number): string => this.#keys.tree(instance, part);
    return this.#paced(subject, { parts: () => treeParts(tree, this.#options.treeShardSize), key }, terms);
  }

  setManagedResources(
    instance: string,
    resources: readonly ManagedResource[] | undefined,
    terms: PublishTerms,
  ): Promise<void> {
    const subject = this.#managedSubject(instance);
    if (resources === undefined) return this.#remove(subject, terms);
    const key = (): string => this.#keys.managedResources(instance);
    return this.#paced(subject, { parts: () => [managedResourcesPart(resources)], key }, terms);
  }

  stands(instance: string): boolean {
    if (this.#options.appStateTtlMs === undefined) return true;
    return [this.#treeSubject(instance), this.#managedSubject(instance)].every(({ id }) => {
      const document = this.#documents.get(id);
      return (
        !this.#pace.isHolding(id) &&
        document !== undefined &&
        document.content.keys.length > 0 &&
        this.#stands(document)
      );
    });
  }

  async setClusterInfo(server: string, report: ClusterReport, terms: PublishTerms): Promise<void> {
    const key = this.#keys.clusterInfo(server);
    const subject = { id: key, keys: [key] };
    const known = this.#documents.get(key);
    const hash = hashText(timeless(report));
    const recent = known !== undefined && this.#deps.clock.monotonic() - known.putAt < clusterHeartbeatMs;
    if (recent && known.content.hash === hash && known.values !== undefined) {
      this.#documents.confirm(known, terms.fence);
      return;
    }
    const value = { parts: () => [clusterInfoPart(report)], key: () => key, hash, ttlMs: clusterTtlMs };
    await this.#publish(subject, value, terms);
  }

  async remove(instance: string, terms: PublishTerms): Promise<void> {
    await this.#remove(this.#managedSubject(instance), terms);
    await this.#remove(this.#treeSubject(instance), terms);
  }

  forget(instance: string): void {
    for (const { id } of [this.#treeSubject(instance), this.#managedSubject(instance)]) {
      this.#pace.drop(id);
      const known = this.#documents.get(id);
      if (known !== undefined) this.#documents.drop(known);
    }
  }

  onLost(listener: (instance: string) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #treeSubject(instance: string): DocumentSubject {
    const key = this.#keys.tree(instance, 0);
    return { id: key, instance, keys: [key], channel: this.#keys.treeChannel(instance) };
  }

  #managedSubject(instance: string): DocumentSubject {
    const key = this.#keys.managedResources(instance);
    return { id: key, instance, keys: [key] };
  }

  /** Publishes at once, or at the end of the interval if the value may wait. */
  async #paced(subject: DocumentSubject, value: PublishedValue, terms: PublishTerms): Promise<void> {
    terms.signal.throwIfAborted();
    const later = (): void => {
      const { fence } = terms;
      void this.#publish(subject, value, { fence, signal: this.#life.signal }).catch(() => undefined);
    };
    if (terms.mayWait === true && this.#pace.holds(subject.id, later)) return;
    this.#pace.begin(subject.id);
    await this.#publish(subject, value, terms);
  }

  async #publish(subject: DocumentSubject, value: PublishedValue, { signal, fence }: PublishTerms): Promise<void> {
    const ttlMs = value.ttlMs ?? this.#options.appStateTtlMs;
    signal.throwIfAborted();
    if (ttlMs === undefined) return;
    const { id } = subject;
    await this.#order.run(id, signal, async () => {
      const last = this.#documents.get(id)?.values?.flatMap(({ pieces }) => pieces) ?? [];
      const how = { compression: this.#options.compression, clock: this.#deps.clock };
      const encoded = await encode(value.parts(), last, how, signal);
      const values = encoded.map((one, i) => ({ key: value.key(i), ...one }));
      const hash = value.hash ?? hashOfAll(encoded);
      const known = this.#documents.get(id);
      if (value.hash === undefined && known?.content.hash === hash && this.#stands(known))
        this.#documents.confirm(known, fence, values);
      else this.#documents.put(subject, { hash, values, ttlMs }, fence, this.#deps.clock.monotonic());
    });
    await this.#written(id, signal);
  }

  /** Reports whether the document is in the store, or on its way there. */
  #stands(document: PublishedDocument): boolean {
    if (document.values !== undefined) return true;
    // Evicted bytes can only be renewed by publishing again, and the next pass may be far off.
    return !document.dirty && this.#deps.clock.monotonic() - document.putAt < document.content.ttlMs / 2;
  }

  async #remove(subject: DocumentSubject, { signal, fence }: PublishTerms): Promise<void> {
    signal.throwIfAborted();
    this.#pace.drop(subject.id);
    await this.#order.run(subject.id, signal, () => {
      const content = { hash: '', values: [], ttlMs: 0 };
      this.#documents.put(subject, content, fence, this.#deps.clock.monotonic());
      return Promise.resolve();
    });
    await this.#written(subject.id, signal);
  }

  /** Waits briefly for the store; not at all while it fails. */
  async #written(id: string, signal: AbortSignal): Promise<void> {
    this.#session?.wake();
    if (!this.#state.takesWrites) return;
    try {
      await withDeadline(signal, this.#limit(maxWriteWaitMs, 'writing to Redis'), (inner) =>
        this.#documents.settled(id, inner),
      );
    } catch (error) {
      if (signal.aborted || isAbort(error)) throw error;
    }
  }

  /** Runs from opening a connection to its end, which is always an error. */
  async #connected(signal: AbortSignal): Promise<never> {
    const link = await withDeadline(signal, this.#limit(openMs, 'connecting to Redis'), this.#deps.open);
    const session = new RedisSession(link, {
      ...this.#deps,
      documents: this.#documents,
      state: this.#state,
      retries: this.#options.retries,
      tellLost: (instance) => {
        for (const listener of this.#listeners) listener(instance);
      },
    });
    try {
      // Another process, or an unidentified one, may have other contents.
      if (link.runId === '' || link.runId !== this.#runId) this.#documents.doubtAll();
      this.#runId = link.runId;
      this.#session = session;
      return await session.run(signal, this.#tried);
    } finally {
      this.#session = undefined;
    }
  }

  #limit(limitMs: number, what: string): DeadlineOptions {
    return { clock: this.#deps.clock, limitMs, what };
  }
}

/** A value to publish, and its keys. */
interface PublishedValue {
  readonly parts: () => readonly DocumentPart[];
  readonly key: (part: number) => string;
  /** Replaces the hash of the text. */
  readonly hash?: string;
  /** Replaces the time to live of applications. */
  readonly ttlMs?: number;
}

/** A cluster info without its times, which always change. */
function timeless({ connectionState, cacheInfo, ...rest }: ClusterReport): string {
  const { status, message } = connectionState;
  const { resourcesCount, apisCount } = cacheInfo;
  return JSON.stringify([status, message, resourcesCount, apisCount, rest]);
}
