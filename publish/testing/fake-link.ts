import { StoreError } from '../redis/link.ts';
import type { RedisLink, StoreFault } from '../redis/link.ts';

/**
 * In-memory store behind {@link RedisLink} that can be flushed, restarted, stopped and told to
 * refuse; records commands.
 */
export class FakeStore {
  readonly values = new Map<string, Buffer>();
  readonly commands: string[] = [];
  runId = 'first';
  /** Reason for refusing connections; undefined: accepts them. */
  away: string | undefined;
  /** Faults by command. */
  readonly refusals = new Map<string, readonly [StoreFault, string]>();
  /** Commands get no response. */
  hangs = false;
  #link: FakeLink | undefined;

  readonly open = (): Promise<RedisLink> => {
    if (this.away !== undefined) return Promise.reject(new StoreError('connection', this.away));
    this.#link = new FakeLink(this);
    return Promise.resolve(this.#link);
  };

  /** Ends the connection, if any. */
  cut(reason: string): void {
    this.#link?.close(new StoreError('connection', reason));
  }

  get connected(): boolean {
    return this.#link?.open === true;
  }

  /** The commands since the last call. */
  take(): readonly string[] {
    return this.commands.splice(0);
  }

  async act<T>(command: string, subject: string, body: () => T): Promise<T> {
    this.commands.push(`${command} ${subject}`);
    if (this.hangs) return new Promise<T>(() => undefined);
    const refusal = this.refusals.get(command);
    if (refusal !== undefined) throw new StoreError(refusal[0], refusal[1]);
    await Promise.resolve();
    return body();
  }
}

class FakeLink implements RedisLink {
  open = true;
  readonly runId: string;
  readonly ended: Promise<never>;
  readonly #store: FakeStore;
  #end: (error: StoreError) => void = () => undefined;

  constructor(store: FakeStore) {
    this.#store = store;
    this.runId = store.runId;
    this.ended = new Promise((_, reject) => {
      this.#end = reject;
    });
    this.ended.catch(() => undefined);
  }

  set(key: string, value: Buffer, ttlMs: number): Promise<void> {
    return this.#act('set', `${key} ${ttlMs}`, () => void this.#store.values.set(key, value));
  }

  delete(keys: readonly string[]): Promise<void> {
    return this.#act('del', keys.join(' '), () => keys.forEach((key) => this.#store.values.delete(key)));
  }

  publish(channel: string): Promise<void> {
    return this.#act('publish', channel, () => undefined);
  }

  count(keys: readonly string[]): Promise<number> {
    return this.#act('exists', String(keys.length), () => keys.filter((key) => this.#store.values.has(key)).length);
  }

  ping(): Promise<void> {
    return this.#act('ping', '', () => undefined);
  }

  close(reason: StoreError): void {
    this.open = false;
    this.#end(reason);
  }

  #act<T>(command: string, subject: string, body: () => T): Promise<T> {
    if (!this.open) return Promise.reject(new StoreError('connection', 'closed'));
    return this.#store.act(command, subject, body);
  }
}
