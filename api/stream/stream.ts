import type { IncomingMessage, ServerResponse } from 'node:http';
import { randomBytes } from 'node:crypto';
import { withDeadline } from '#base';
import type { Clock } from '#base';
import type { AppKey } from '#model';
import { splitAppKey } from '#model';
import type { Caller } from '../access/viewer.ts';
import type { ReplicaFacts } from '../facts.ts';
import { ApiFault } from '../fault.ts';
import type { ApplicationIndex } from '../pages/applications.ts';
import { withoutUserInfo } from '../pages/format.ts';
import { canRead, readableNamespaces } from '../visible.ts';
import type { ReadableNamespaces } from '../visible.ts';
import type { StreamEvent } from '../view-types.ts';
import { ChangeFeed } from './change-feed.ts';

export interface ChangeStreamDeps {
  readonly facts: ReplicaFacts;
  readonly index: ApplicationIndex;
  readonly clock: Clock;
}

const maxStreams = 100;
const maxStreamsOfOne = 8;
/** Proxies and the server itself cut silent connections. */
const heartbeatMs = 8000;
/** A stream ends then, so that the caller's token is checked again. */
const maxStreamMs = 300_000;
/** A caller that does not read what it was sent. */
const drainLimitMs = 20_000;

/**
 * `GET /api/v1/stream`: server-sent events about what changed. A caller gets the Applications that
 * its pages would show. It resumes by `Last-Event-ID` as long as the changes are recorded.
 */
export class ChangeStream {
  readonly #deps: ChangeStreamDeps;
  readonly #feed: ChangeFeed;
  /** Positions of another process mean nothing here. */
  readonly #process = randomBytes(6).toString('hex');
  readonly #open = new Map<string, number>();
  #streams = 0;

  constructor(deps: ChangeStreamDeps) {
    this.#deps = deps;
    this.#feed = new ChangeFeed(deps.facts, deps.clock);
  }

  /**
   * Serves one stream until the caller leaves.
   * @throws ApiFault before anything is sent
   */
  async serve(request: IncomingMessage, response: ServerResponse, caller: Caller, signal: AbortSignal): Promise<void> {
    const user = caller.viewer.user ?? '';
    const own = this.#open.get(user) ?? 0;
    if (this.#streams >= maxStreams || (user !== '' && own >= maxStreamsOfOne))
      throw new ApiFault(429, `too many streams are open: at most ${maxStreamsOfOne} of one user`);
    this.#streams += 1;
    this.#open.set(user, own + 1);
    try {
      await this.#run(request, response, caller, signal);
    } finally {
      this.#streams -= 1;
      const left = (this.#open.get(user) ?? 1) - 1;
      if (left <= 0) this.#open.delete(user);
      else this.#open.set(user, left);
    }
  }

  async #run(
    { headers }: IncomingMessage,
    response: ServerResponse,
    { viewer }: Caller,
    signal: AbortSignal,
  ): Promise<void> {
    const { index, clock } = this.#deps;
    const readable = (): Promise<ReadableNamespaces> => readableNamespaces(index.namespaces(), viewer, signal);
    let seen = await readable();
    this.#feed.current();
    const resumed = this.#positionIn(headers['last-event-id']);
    let position = resumed ?? this.#feed.current();
    response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-accel-buffering': 'no',
    });
    if (resumed === undefined) await this.#send(response, position, { type: 'reset' }, signal);
    const end = clock.monotonic() + maxStreamMs;
    while (!signal.aborted && clock.monotonic() < end) {
      await this.#feed.changed(position, heartbeatMs, signal);
      const now = await readable();
      const changes = isSame(now, seen) ? this.#feed.after(position) : undefined;
      seen = now;
      position = changes?.position ?? this.#feed.current();
      if (changes === undefined) await this.#send(response, position, { type: 'reset' }, signal);
      else await this.#sendChanges(response, { ...changes, readable: now }, signal);
    }
    response.end();
  }

  async #sendChanges(
    response: ServerResponse,
    {
      position,
      keys,
      ownership,
      readable,
    }: { position: number; keys: readonly AppKey[]; ownership: boolean; readable: ReadableNamespaces },
    signal: AbortSignal,
  ): Promise<void> {
    const { index, facts } = this.#deps;
    if (ownership) await this.#send(response, position, { type: 'ownership' }, signal);
    const visible = keys.filter((key) => canRead(readable, splitAppKey(key).namespace));
    if (visible.length === 0) return ownership ? undefined : write(response, ':\n\n', this.#deps.clock, signal);
    const { holders } = facts.ownership.facts();
    const found = visible.map((key) => ({ key, item: index.find(key) }));
    const changed = found.flatMap(({ item }) => (item === undefined ? [] : [index.summaryOf(item, holders)]));
    const removed = found.flatMap(({ key, item }) => (item === undefined ? [key] : []));
    await this.#send(response, position, { type: 'applications', changed, removed }, signal);
  }

  #send(response: ServerResponse, position: number, event: StreamEvent, signal: AbortSignal): Promise<void> {
    const { type, ...data } = event;
    // JSON has no line break outside of its strings' escapes.
    const text = `id: ${this.#process}-${position}\nevent: ${type}\ndata: ${withoutUserInfo(JSON.stringify(data))}\n\n`;
    return write(response, text, this.#deps.clock, signal);
  }

  #positionIn(header: string | string[] | undefined): number | undefined {
    const [, process, position] = /^([0-9a-f]+)-(\d{1,15})$/.exec(typeof header === 'string' ? header : '') ?? [];
    if (process !== this.#process || this.#feed.after(Number(position)) === undefined) return undefined;
    return Number(position);
  }
}

/** Waits while the caller does not read. */
async function write(response: ServerResponse, text: string, clock: Clock, signal: AbortSignal): Promise<void> {
  if (response.write(text)) return;
  const drained = (inner: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      response.once('drain', resolve);
      inner.addEventListener('abort', () => reject(inner.reason as Error), { once: true });
    });
  try {
    await withDeadline(signal, { clock, limitMs: drainLimitMs, what: 'a caller that reads the stream' }, drained);
  } catch {
    response.destroy();
  }
}

function isSame(a: ReadableNamespaces, b: ReadableNamespaces): boolean {
  if (a === 'all' || b === 'all') return a === b;
  return a.size === b.size && [...a].every((namespace) => b.has(namespace));
}
