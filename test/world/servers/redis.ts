import { seededRandom } from '#base';
import type { RandomSource } from '#base';
import type { Publisher } from '#publish';
import type { Logger, MetricRegistry } from '#telemetry';
import { RedisPublisher, StoreError, storeMetrics } from '../../../publish/testing/index.ts';
import type { OpenLink, RedisLink } from '../../../publish/testing/index.ts';
import type { VirtualTime } from '../../../sharding/testing/index.ts';
import type { NetworkProcess } from '../clock.ts';
import type { FaultCounts } from '../faults.ts';

/** Faults of Redis, for a moment or for a while. */
export type RedisFault =
  /** Connections are refused and end. */
  | 'down'
  /** Commands are carried out, and never answered. */
  | 'hangs'
  /** Writes are refused: no memory is left. */
  | 'full'
  /** Commands are refused: data is being loaded. */
  | 'loading'
  /** All values are gone. */
  | 'flushed'
  /** Another process without values answers at the address. */
  | 'replaced'
  /** Half of the values are gone. */
  | 'evicts'
  /** Writes are acknowledged and not kept, and all keys are said to exist. */
  | 'lying';

/** A write that Redis has carried out. */
export interface StoredWrite {
  readonly process: NetworkProcess;
  readonly key: string;
  /** Undefined: deleted. */
  readonly text: string | undefined;
}

export interface WorldRedisDeps {
  readonly time: VirtualTime;
  readonly random: RandomSource;
  readonly counts: FaultCounts;
  readonly onWrite: (write: StoredWrite) => void;
}

interface StoredText {
  readonly text: string;
  readonly expiresAt: number;
}

/** Short, so that values are renewed in each schedule. */
export const redisTtlMs = 60_000;

/** The Redis of Argo CD that all replicas publish to. */
export class WorldRedis {
  readonly #deps: WorldRedisDeps;
  readonly #values = new Map<string, StoredText>();
  readonly #links = new Set<WorldLink>();
  #fault: { readonly what: RedisFault; readonly until: number } | undefined;
  #processes = 1;

  constructor(deps: WorldRedisDeps) {
    this.#deps = deps;
  }

  disturb(what: RedisFault, ms: number): void {
    this.#deps.counts.add(`redis: ${what}`);
    this.#fault = { what, until: this.#deps.time.now + ms };
    if (what === 'flushed' || what === 'replaced') this.#values.clear();
    if (what === 'replaced') this.#processes += 1;
    if (what === 'evicts') [...this.#values.keys()].forEach((key, i) => i % 2 === 0 && this.#values.delete(key));
    if (what === 'down' || what === 'replaced') for (const link of this.#links) link.end('connection reset');
  }

  calm(): void {
    this.#fault = undefined;
  }

  /** The stored text of a key; undefined: none, or expired. */
  read(key: string): string | undefined {
    const found = this.#values.get(key);
    return found === undefined || found.expiresAt <= this.#deps.time.now ? undefined : found.text;
  }

  /** Links of a process that are open. */
  openOf(process: NetworkProcess): number {
    return [...this.#links].filter((link) => link.process === process).length;
  }

  disconnect(process: NetworkProcess): void {
    for (const link of this.#links) if (link.process === process) this.#links.delete(link);
  }

  open(process: NetworkProcess): OpenLink {
    return (signal) =>
      new Promise((resolve, reject) => {
        this.#after(process, () => {
          if (signal.aborted || this.#has('down')) {
            reject(new StoreError('connection', 'connection refused'));
            return;
          }
          const link = new WorldLink(process, String(this.#processes), this, (ended) => this.#links.delete(ended));
          this.#links.add(link);
          resolve(link);
        });
      });
  }

  set(link: WorldLink, key: string, value: Buffer, ttlMs: number): Promise<void> {
    return this.#command(link, 'write', () => {
      const text = value.toString();
      if (!this.#has('lying')) this.#values.set(key, { text, expiresAt: this.#deps.time.now + ttlMs });
      this.#deps.onWrite({ process: link.process, key, text });
    });
  }

  delete(link: WorldLink, keys: readonly string[]): Promise<void> {
    return this.#command(link, 'write', () => {
      for (const key of keys) {
        if (!this.#has('lying')) this.#values.delete(key);
        this.#deps.onWrite({ process: link.process, key, text: undefined });
      }
    });
  }

  count(link: WorldLink, keys: readonly string[]): Promise<number> {
    return this.#command(link, 'read', () =>
      this.#has('lying') ? keys.length : keys.filter((key) => this.read(key) !== undefined).length,
    );
  }

  ping(link: WorldLink): Promise<void> {
    return this.#command(link, 'read', () => undefined);
  }

  #has(what: RedisFault): boolean {
    return this.#fault?.what === what && this.#fault.until > this.#deps.time.now;
  }

  #command<T>(link: WorldLink, kind: 'read' | 'write', act: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      void link.ended.catch(reject);
      // A command that was sent arrives, even if its process is frozen or gone by then.
      this.#deps.time.at(this.#deps.time.now + this.#latency(), () => {
        if (!this.#links.has(link)) return;
        const refusal = this.#refusal(kind);
        const result = refusal === undefined ? act() : undefined;
        if (this.#has('hangs')) return;
        this.#after(link.process, () => (refusal === undefined ? resolve(result as T) : reject(refusal)));
      });
    });
  }

  #refusal(kind: 'read' | 'write'): StoreError | undefined {
    if (this.#has('loading')) return new StoreError('refused', 'LOADING Redis is loading the dataset in memory');
    if (kind === 'write' && this.#has('full'))
      return new StoreError('refused', "OOM command not allowed when used memory > 'maxmemory'");
    return undefined;
  }

  #after(process: NetworkProcess, run: () => void): void {
    this.#deps.time.at(this.#deps.time.now + this.#latency(), () => process.clock.machine.whenRunning(run));
  }

  #latency(): number {
    return 1 + Math.floor(this.#deps.random.next() * 3);
  }
}

/** One connection of one process. */
class WorldLink implements RedisLink {
  readonly process: NetworkProcess;
  readonly runId: string;
  readonly ended: Promise<never>;
  readonly #redis: WorldRedis;
  readonly #onEnd: (link: WorldLink) => void;
  #reject: (error: StoreError) => void = () => undefined;

  constructor(process: NetworkProcess, runId: string, redis: WorldRedis, onEnd: (link: WorldLink) => void) {
    this.process = process;
    this.runId = runId;
    this.#redis = redis;
    this.#onEnd = onEnd;
    this.ended = new Promise((_, reject) => (this.#reject = reject));
    this.ended.catch(() => undefined);
  }

  set(key: string, value: Buffer, ttlMs: number): Promise<void> {
    return this.#redis.set(this, key, value, ttlMs);
  }

  delete(keys: readonly string[]): Promise<void> {
    return this.#redis.delete(this, keys);
  }

  publish(): Promise<void> {
    return this.#redis.ping(this);
  }

  count(keys: readonly string[]): Promise<number> {
    return this.#redis.count(this, keys);
  }

  ping(): Promise<void> {
    return this.#redis.ping(this);
  }

  close(reason: StoreError): void {
    this.#onEnd(this);
    this.#reject(reason);
  }

  /** The server ends the connection. */
  end(reason: string): void {
    this.#onEnd(this);
    this.process.clock.machine.whenRunning(() => this.#reject(new StoreError('connection', reason)));
  }
}

interface PublisherDeps {
  readonly redis: WorldRedis;
  readonly process: NetworkProcess;
  readonly seed: number;
  readonly logger: Logger;
  readonly metrics: MetricRegistry;
}

/** The publisher of the product, over this Redis. */
export function createWorldPublisher({ redis, process, seed, logger, metrics }: PublisherDeps): Publisher {
  return new RedisPublisher(
    {
      open: redis.open(process),
      clock: process.clock,
      random: seededRandom(seed),
      logger,
      metrics: storeMetrics(metrics, process.name),
    },
    {
      prefix: '',
      compression: 'none',
      appStateTtlMs: redisTtlMs,
      treeShardSize: 0,
      retries: 3,
      maxBytes: 1 << 20,
    },
  );
}

const keyPattern = /^app\|(resources-tree|managed-resources)\|([^|]+)\|/;

/** The Application that a key is about. */
export function appOfKey(key: string): string | undefined {
  return keyPattern.exec(key)?.[2];
}

export const treeKeyOf = (app: string): string => `app|resources-tree|${app}|1.8.3`;
export const managedKeyOf = (app: string): string => `app|managed-resources|${app}|1.8.3`;
