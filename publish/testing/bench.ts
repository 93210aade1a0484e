import { seededRandom, Shutdown } from '#base';
import { FakeClock } from '#support';
import { createLogger, PromMetrics } from '#telemetry';
import { storeMetrics } from '../redis/metrics.ts';
import { RedisPublisher } from '../redis/publisher.ts';
import type { RedisPublisherOptions } from '../redis/publisher.ts';
import type { PublishTerms } from '../types.ts';
import { FakeStore } from './fake-link.ts';

const { signal } = new AbortController();
/** Terms of an owner that never stops. */
export const ownerTerms: PublishTerms = { signal, fence: (send) => send(signal) };
export const hourMs = 3_600_000;

/** A publisher with a store in memory and virtual time. */
export class PublisherBench {
  readonly clock = new FakeClock();
  readonly store = new FakeStore();
  readonly metrics = new PromMetrics();
  readonly lines: string[] = [];
  readonly publisher: RedisPublisher;
  readonly #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(options: Partial<RedisPublisherOptions> = {}) {
    const write = (line: string): void => void this.lines.push(line.trim());
    this.publisher = new RedisPublisher(
      {
        open: this.store.open,
        clock: this.clock,
        random: seededRandom(1),
        logger: createLogger({ level: 'info', format: 'text', destination: { write } }),
        metrics: storeMetrics(this.metrics, 'host'),
      },
      {
        prefix: '',
        compression: 'none',
        appStateTtlMs: hourMs,
        treeShardSize: 0,
        retries: 3,
        maxBytes: 1 << 20,
        ...options,
      },
    );
  }

  async start(): Promise<this> {
    this.#running = this.publisher.run(this.#stop.signal);
    await this.clock.advance(1);
    return this;
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Shutdown());
    await this.#running;
  }

  /** Commands since the last call that change the store. */
  writes(): readonly string[] {
    return this.store.take().filter((command) => /^(?:set|del|publish)/.test(command));
  }

  /** Reports whether the work is done after this virtual time. */
  async pass(work: Promise<unknown>, ms: number): Promise<boolean> {
    const done = new Set<string>();
    const finished = work.then(() => done.add('yes'));
    await this.clock.advance(ms);
    if (done.size > 0) await finished;
    return done.size > 0;
  }

  async metric(name: string): Promise<string | undefined> {
    const text = await this.metrics.expose();
    return new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'm').exec(text)?.[1];
  }
}
