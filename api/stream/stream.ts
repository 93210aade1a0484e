import type { IncomingMessage, ServerResponse } from 'node:http';
import { randomBytes } from 'node:crypto';
import { Shutdown, withChild, withDeadline } from '#base';
import type { Clock } from '#base';
import { splitAppKey } from '#model';
import { mayReadApplications } from '../access/viewer.ts';
import type { Caller, Viewer } from '../access/viewer.ts';
import type { ReplicaFacts } from '../facts.ts';
import { ApiFault } from '../fault.ts';
import type { ApplicationIndex } from '../pages/applications.ts';
import { withoutUserInfo } from '../pages/format.ts';
import { canRead, readableNamespaces } from '../visibility/visible.ts';
import type { ReadableNamespaces } from '../visibility/visible.ts';
import { PageAccess } from '../visibility/page-access.ts';
import type { StreamEvent } from '../view-types.ts';
import { ChangeFeed } from './change-feed.ts';
import type { FeedChanges } from './change-feed.ts';
import { StreamPool } from './stream-pool.ts';

export interface ChangeStreamDeps {
  readonly facts: ReplicaFacts;
  readonly index: ApplicationIndex;
  readonly clock: Clock;
}

/** The contents of a viewer's stream. */
interface StreamView {
  readonly readable: ReadableNamespaces;
  readonly showsClusters: boolean;
}

interface OpenStream extends Pick<IncomingMessage, 'headers'> {
  readonly response: ServerResponse;
  readonly viewer: Viewer;
  readonly seen: StreamView;
}

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
  readonly #pool = new StreamPool();

  constructor(deps: ChangeStreamDeps) {
    this.#deps = deps;
    this.#feed = new ChangeFeed(deps.facts, deps.clock);
  }

  /**
   * Serves one stream until the caller leaves.
   * @throws ApiFault before anything is sent
   */
  async serve(
    request: IncomingMessage,
    response: ServerResponse,
    { viewer }: Caller,
    signal: AbortSignal,
  ): Promise<void> {
    // Before the stream counts: callers without a right take no place of others.
    const seen = await this.#view(viewer, signal);
    if (seen === undefined)
      throw new ApiFault(
        403,
        'this page needs the right to get applications.argoproj.io in a namespace with Applications',
      );
    await withChild(signal, async (inner, abort) => {
      const release = this.#pool.take(viewer, () => abort(new Shutdown('its place went to another tenant')));
      try {
        await this.#run({ headers: request.headers, response, viewer, seen }, inner);
      } finally {
        release();
        response.end();
      }
    });
  }

  /** The viewer's present rights; undefined: none. */
  async #view(viewer: Viewer, signal: AbortSignal): Promise<StreamView | undefined> {
    const { index, facts } = this.#deps;
    const readable = await readableNamespaces(index.namespaces(), viewer, signal);
    const isEmpty = readable !== 'all' && readable.size === 0;
    // Without any Application, those who may read the controller's namespace wait for the first.
    if (isEmpty && !(await mayReadApplications(viewer, facts.namespace, signal))) return undefined;
    const scope = { controller: facts.namespace, application: facts.namespace, isHub: false };
    const missing = await new PageAccess({ viewer, scope, signal }).missing('clusters');
    return { readable, showsClusters: missing === undefined };
  }

  async #run({ headers, response, viewer, seen: first }: OpenStream, signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    let seen = first;
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
      const now = await this.#view(viewer, signal);
      if (now === undefined) return;
      const changes = isSame(now, seen) ? this.#feed.after(position) : undefined;
      seen = now;
      position = changes?.position ?? this.#feed.current();
      if (changes === undefined) await this.#send(response, position, { type: 'reset' }, signal);
      else await this.#sendChanges(response, { ...changes, view: now }, signal);
    }
  }

  async #sendChanges(
    response: ServerResponse,
    { position, keys, ownership, view: { readable, showsClusters } }: FeedChanges & { readonly view: StreamView },
    signal: AbortSignal,
  ): Promise<void> {
    const { index } = this.#deps;
    if (ownership) await this.#send(response, position, { type: 'ownership' }, signal);
    const visible = keys.filter((key) => canRead(readable, splitAppKey(key).namespace));
    if (visible.length === 0) return ownership ? undefined : write(response, ':\n\n', this.#deps.clock, signal);
    const view = index.view(showsClusters);
    const found = visible.map((key) => ({ key, item: index.find(key) }));
    const changed = found.flatMap(({ item }) => (item === undefined ? [] : [index.summaryOf(item, view)]));
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

function isSame(a: StreamView, b: StreamView): boolean {
  if (a.showsClusters !== b.showsClusters) return false;
  if (a.readable === 'all' || b.readable === 'all') return a.readable === b.readable;
  const [one, other] = [a.readable, b.readable];
  return one.size === other.size && [...one].every((namespace) => other.has(namespace));
}
