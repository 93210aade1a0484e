import { withChild } from '#base';
import type { ClockTimer } from '#base';
import { isBeyondBounds, KubeProtocolError } from '../errors.ts';
import type { ListCollector } from './informer-types.ts';
import { ListBounds } from './list-bounds.ts';
import type { ReadingContext } from './list-reader.ts';
import { scopeOf } from './list-reader.ts';
import type { WatchEvent } from '../types.ts';
import { isOlderVersion } from './version.ts';

/** An accepted stream without a listed object for this long does not support initial events. */
const silentStreamMs = 10_000;

/** A watch whose initial events are in the sink. */
export interface ListedStream {
  /** The version of the list, from which the watch continues. */
  readonly resourceVersion: string;
  /** The events after it. */
  readonly events: AsyncIterator<WatchEvent>;
  readonly signal: AbortSignal;
  /** Ends the watch with this error. */
  readonly interrupt: (reason: Error) => void;
}

/**
 * Opens a watch that starts with the current objects, and passes `body` the stream once the sink
 * has the complete list. Only the bookmark after the initial events completes it: a stream that
 * ends or stalls before leaves the list uncommitted, and rejects.
 * @param asList runs the initial part, which counts as a list.
 */
export function withInitialEvents(
  context: ReadingContext,
  parent: AbortSignal,
  asList: <T>(read: () => Promise<T>) => Promise<T>,
  body: (stream: ListedStream) => Promise<void>,
): Promise<void> {
  return withChild(parent, async (signal, interrupt) => {
    try {
      const { resourceVersion, events } = await asList(() => openListed(context, signal, interrupt));
      await body({ resourceVersion, events, signal, interrupt }).finally(() => events.return?.());
    } catch (error) {
      // The transport may report an aborted stream in its own words.
      throw signal.aborted ? signal.reason : error;
    }
  });
}

async function openListed(
  context: ReadingContext,
  signal: AbortSignal,
  abort: (reason: Error) => void,
): Promise<Pick<ListedStream, 'resourceVersion' | 'events'>> {
  const { client, resource } = context.options;
  signal.throwIfAborted();
  const deadline = new StreamDeadline(context, abort);
  const start = { resourceVersion: '', sendInitialEvents: true, onOpen: () => deadline.start() };
  const events = client.watch(resource, { ...scopeOf(context.options), ...start, signal })[Symbol.asyncIterator]();
  try {
    return { resourceVersion: await collect(context, events, deadline), events };
  } catch (error) {
    await events.return?.();
    throw error;
  } finally {
    deadline.stop();
  }
}

async function collect(
  context: ReadingContext,
  events: AsyncIterator<WatchEvent>,
  deadline: StreamDeadline,
): Promise<string> {
  const { options, tuning, listName, isolated } = context;
  const collector = options.sink.startList();
  const bounds = new ListBounds(listName, options.clock, tuning.limits);
  let newest = '';
  const next = async (): Promise<WatchEvent> => {
    const event = await nextEvent(context, events);
    if (event.type === 'BOOKMARK') return event;
    if (event.type === 'ADDED') deadline.progress();
    bounds.countItems(1);
    take(context, collector, event);
    const { resourceVersion = '' } = event.object.metadata;
    if (newest === '' || isOlderVersion(newest, resourceVersion)) newest = resourceVersion;
    return event;
  };
  try {
    let event = await next();
    while (event.type !== 'BOOKMARK' || event.endsInitialEvents !== true) event = await next();
    const { resourceVersion } = event;
    if (isOlderVersion(resourceVersion, newest))
      throw new KubeProtocolError(listName, 'the stream ended the list with a version older than its objects');
    isolated(() => collector.commit(resourceVersion));
    return resourceVersion;
  } catch (error) {
    isolated(() => collector.abandon(isBeyondBounds(error)));
    throw error;
  }
}

async function nextEvent({ listName }: ReadingContext, events: AsyncIterator<WatchEvent>): Promise<WatchEvent> {
  const next = await events.next();
  if (next.done === true) throw new KubeProtocolError(listName, 'the stream ended before the list was complete');
  return next.value;
}

/** Servers may send changes among the initial events. */
function take(
  { options, listName, isolated }: ReadingContext,
  collector: ListCollector,
  { type, object }: Exclude<WatchEvent, { readonly type: 'BOOKMARK' }>,
): void {
  const { namespace, resourceVersion = '' } = object.metadata;
  if (resourceVersion === '') throw new KubeProtocolError(listName, 'an event has no resourceVersion');
  if (options.namespace !== undefined && namespace !== options.namespace)
    throw new KubeProtocolError(listName, 'the stream has an object of another namespace');
  isolated(() => (type === 'DELETED' ? collector.remove(object) : collector.add([object], '')));
}

/** Aborts a stream without progress, and one that takes longer than a page of a list. */
class StreamDeadline {
  readonly #context: ReadingContext;
  readonly #abort: (reason: Error) => void;
  #timer: ClockTimer | undefined;
  #openedAt = 0;
  #progressAt = 0;

  constructor(context: ReadingContext, abort: (reason: Error) => void) {
    this.#context = context;
    this.#abort = abort;
  }

  /** The server has accepted the watch. */
  start(): void {
    this.#openedAt = this.#now();
    this.#progressAt = this.#openedAt;
    this.#arm();
  }

  progress(): void {
    this.#progressAt = this.#now();
  }

  stop(): void {
    this.#timer?.cancel();
  }

  #now(): number {
    return this.#context.options.clock.monotonic();
  }

  #arm(): void {
    const { tuning, options, listName } = this.#context;
    const leftMs = Math.min(this.#progressAt + silentStreamMs, this.#openedAt + tuning.pageDeadlineMs) - this.#now();
    if (leftMs > 0) this.#timer = options.clock.timer(leftMs, () => this.#arm());
    else this.#abort(new KubeProtocolError(listName, 'the stream did not complete the list in time'));
  }
}
