import { hashText, isAbort, KeyedMutex, newAbortController, withDeadline } from '#base';
import type { Clock, Deadline, Random } from '#base';
import type { Logger } from '#telemetry';
import type { ApplicationTree, ClusterReport, ManagedResource, Publisher, PublishTerms } from '../types.ts';
import { Documents } from './documents.ts';
import type { Document, Subject } from './documents.ts';
import { encode, hashOfAll } from './encode.ts';
import { clusterInfoPart, managedResourcesPart, treeParts } from './json.ts';
import { Keys } from './keys.ts';
import type { KeyOptions } from './keys.ts';
import type { OpenLink } from './link.ts';
import type { StoreMetrics } from './metrics.ts';
import { Pace } from './pace.ts';
import type { Part } from './runs.ts';
import { Session } from './session.ts';
import { StoreState } from './state.ts';

export interface RedisPublisherOptions extends KeyOptions {
  /** Life of trees and managed resources. Undefined: they are not stored at all. */
  readonly appStateTtlMs: number | undefined;
  /** Items of a tree in one key; 0: all. */
  readonly treeShardSize: number;
  /** How much of what is published may be kept in memory, compressed. */
  readonly maxBytes: number;
}

export interface RedisPublisherDeps {
  readonly open: OpenLink;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: StoreMetrics;
}

/** How long a pass waits for its write. */
const waitMs = 2000;
const openMs = 10_000;
const backoff = { firstMs: 250, mostMs: 2000 };
/** A session that held this long shows that the store is there: the next one is tried soon. */
const steadyMs = 2000;
/** Argo CD's life of cluster infos. */
const clusterTtlMs = 600_000;
/** A cluster info in which only the times moved is written this often. */
const clusterHeartbeatMs = 60_000;
/** What may wait is published this often at most. */
const paceMs = 500;

/**
 * Keeps the store equal to what was published, as a controller keeps a cluster equal to Git: {@link Documents} says what should stand there and
 * what does, and a loop writes the difference. A restart, a failover or a flush of the store only makes the difference bigger.
 *
 * How losses are found: another server process (its run id) may hold anything, so everything is written again; and every two seconds a few of the
 * keys are counted, which finds a flush at once and single evicted keys within minutes. No key of our own is written, so Argo CD sees only its own.
 *
 * What an edit costs follows the edit: the text is made and compressed in runs of resources, and only the runs that changed are made ({@link encode}). Of a
 * tree in several keys only those whose contents changed are written. A storm of edits is published twice a second.
 *
 * Source: Argo CD util/cache, util/cache/appstate. Differences: a local copy counts as stored after the store has said so, not before; an unchanged
 * tree is not announced; surplus parts of a tree that shrank are removed; several edits within half a second may be one write.
 */
export class RedisPublisher implements Publisher {
  readonly name = 'publisher';
  readonly #deps: RedisPublisherDeps;
  readonly #options: RedisPublisherOptions;
  readonly #keys: Keys;
  readonly #documents: Documents;
  /** Values of one application are made and put in the order in which they were published. */
  readonly #order = new KeyedMutex<string>();
  readonly #listeners = new Set<(instance: string) => void>();
  readonly #state: StoreState;
  readonly #pace: Pace;
  /** Of what is published later than it was asked for. */
  readonly #life = newAbortController();
  #session: Session | undefined;
  #runId = '';
  #tried: () => void = () => undefined;
  readonly #firstTry = new Promise<void>((resolve) => {
    this.#tried = resolve;
  });

  constructor(deps: RedisPublisherDeps, options: RedisPublisherOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#keys = new Keys(options);
    this.#documents = new Documents({ maxBytes: options.maxBytes, random: deps.random });
    this.#state = new StoreState(deps);
    this.#pace = new Pace(deps.clock, paceMs);
    deps.metrics.show({
      up: () => this.#state.takesWrites,
      waiting: () => this.#documents.waiting,
      bytes: () => this.#documents.bytes,
    });
  }

  /** When the store has been tried once: what is published first then need not go without waiting for it. */
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
      if (clock.monotonic() - began > steadyMs) delayMs = backoff.firstMs;
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

  #treeSubject(instance: string): Subject {
    const key = this.#keys.tree(instance, 0);
    return { id: key, instance, keys: [key], channel: this.#keys.treeChannel(instance) };
  }

  #managedSubject(instance: string): Subject {
    const key = this.#keys.managedResources(instance);
    return { id: key, instance, keys: [key] };
  }

  /** At once, or in a moment where that may be and the last one is but a moment ago. */
  async #paced(subject: Subject, value: Value, terms: PublishTerms): Promise<void> {
    terms.signal.throwIfAborted();
    const later = (): void => {
      const { fence } = terms;
      void this.#publish(subject, value, { fence, signal: this.#life.signal }).catch(() => undefined);
    };
    if (terms.mayWait === true && this.#pace.holds(subject.id, later)) return;
    this.#pace.begin(subject.id);
    await this.#publish(subject, value, terms);
  }

  async #publish(subject: Subject, value: Value, { signal, fence }: PublishTerms): Promise<void> {
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

  /** Is it in the store, or on its way there? */
  #stands(document: Document): boolean {
    if (document.values !== undefined) return true;
    // Without its bytes only those who publish it can renew it, and their next turn may be a long way off.
    return !document.dirty && this.#deps.clock.monotonic() - document.putAt < document.content.ttlMs / 2;
  }

  async #remove(subject: Subject, { signal, fence }: PublishTerms): Promise<void> {
    signal.throwIfAborted();
    this.#pace.drop(subject.id);
    await this.#order.run(subject.id, signal, () => {
      const content = { hash: '', values: [], ttlMs: 0 };
      this.#documents.put(subject, content, fence, this.#deps.clock.monotonic());
      return Promise.resolve();
    });
    await this.#written(subject.id, signal);
  }

  /** Waits a moment for the store; while it is in trouble, not at all. */
  async #written(id: string, signal: AbortSignal): Promise<void> {
    this.#session?.wake();
    if (!this.#state.takesWrites) return;
    try {
      await withDeadline(signal, this.#limit(waitMs, 'writing to Redis'), (inner) =>
        this.#documents.settled(id, inner),
      );
    } catch (error) {
      if (signal.aborted || isAbort(error)) throw error;
    }
  }

  /** From opening a connection to its end, which is always an error. */
  async #connected(signal: AbortSignal): Promise<never> {
    const link = await withDeadline(signal, this.#limit(openMs, 'connecting to Redis'), this.#deps.open);
    const session = new Session(link, {
      ...this.#deps,
      documents: this.#documents,
      state: this.#state,
      tellLost: (instance) => {
        for (const listener of this.#listeners) listener(instance);
      },
    });
    try {
      // Another process may have other contents; so may one that does not say which it is.
      if (link.runId === '' || link.runId !== this.#runId) this.#documents.doubtAll();
      this.#runId = link.runId;
      this.#session = session;
      return await session.run(signal, this.#tried);
    } finally {
      this.#session = undefined;
    }
  }

  #limit(limitMs: number, what: string): Deadline {
    return { clock: this.#deps.clock, limitMs, what };
  }
}

/** What is published and under which keys. */
interface Value {
  readonly parts: () => readonly Part[];
  readonly key: (part: number) => string;
  /** In place of that of the text. */
  readonly hash?: string;
  /** In place of that of applications. */
  readonly ttlMs?: number;
}

/** Everything of a cluster info but the times, which always move. */
function timeless({ connectionState, cacheInfo, ...rest }: ClusterReport): string {
  const { status, message } = connectionState;
  const { resourcesCount, apisCount } = cacheInfo;
  return JSON.stringify([status, message, resourcesCount, apisCount, rest]);
}
