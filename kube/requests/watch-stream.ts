import { valueAt, DeadlineExceeded, isObject, newAbortController, yieldToLoop } from '#base';
import type { Clock, ClockTimer, Json } from '#base';
import { checkItemKind, isKubeObject, maxVersionLength, refuseEncoded, statusOfObject } from './answers.ts';
import type { RequestContext } from './answers.ts';
import type { KubeObject } from '#model';
import { KubeApiError, KubeProtocolError } from '../errors.ts';
import type { Exchange, RequestSpec } from './exchange.ts';
import { markAsHead, rememberText, readValue } from './head.ts';
import type { ReadValue } from './head.ts';
import { readDeferred } from './deferred-reader.ts';
import { closeBrace } from './json-bytes.ts';
import { LineSplitter, textIn } from './list-splitter.ts';
import type { DefersMembers, WatchEvent } from '../types.ts';

const watchSliceBytes = 256 * 1024;
/** Annotation of the bookmark after the initial events. */
const initialEventsEnd = 'k8s.io/initial-events-end';

/** Callbacks of a watch. */
export interface WatchReading {
  readonly onOpen?: (() => void) | undefined;
  readonly defers?: DefersMembers | undefined;
}

/**
 * The events of one watch request. The consumer pulls: while it handles an event nothing is read,
 * and TCP or HTTP/2 flow control slows the server down.
 */
export async function* watchStream(
  exchange: Exchange,
  spec: RequestSpec,
  { onOpen, defers }: WatchReading,
): AsyncGenerator<WatchEvent> {
  const what = exchange.describe(spec);
  const held = exchange.inFlight.open(what);
  const life = newAbortController();
  const end = (): void => life.abort(spec.signal.reason);
  spec.signal.throwIfAborted();
  spec.signal.addEventListener('abort', end, { once: true });
  const watchdog = new Watchdog(exchange.clock, (limitMs, doing) =>
    life.abort(new DeadlineExceeded(`${what}: ${doing}`, limitMs)),
  );
  // A consumer that stopped pulling may never reach the finally below.
  life.signal.addEventListener('abort', () => watchdog.stop(), { once: true });
  try {
    watchdog.watch(spec.deadlineMs ?? exchange.limits.deadlineMs, 'opening the watch');
    const { response, context } = await exchange.open({ ...spec, signal: life.signal });
    watchdog.watch(exchange.limits.watchIdleMs, 'the silence');
    onOpen?.();
    refuseEncoded(response, what);
    const lines = new LineSplitter(exchange.limits.bytes.objectBytes, what);
    let sinceTurn = 0;
    for await (const chunk of response.body) {
      watchdog.alive();
      for (const line of lines.push(chunk)) yield readEvent(line, context, defers);
      held.set(lines.heldBytes);
      watchdog.alive();
      sinceTurn += chunk.length;
      if (sinceTurn < watchSliceBytes) continue;
      sinceTurn = 0;
      await yieldToLoop();
    }
    if (lines.rest() !== '') throw new KubeProtocolError(what, 'the watch was cut off inside an event');
  } finally {
    held.release();
    watchdog.stop();
    spec.signal.removeEventListener('abort', end);
    life.abort(spec.signal.aborted ? spec.signal.reason : new Error('the watch is over'));
  }
}

/** Fires if `alive` was not called for the limit. Calls do not restart the timer, to be cheap. */
class Watchdog {
  readonly #clock: Clock;
  readonly #fire: (limitMs: number, doing: string) => void;
  #aliveAt = 0;
  #timer: ClockTimer | undefined;

  constructor(clock: Clock, fire: (limitMs: number, doing: string) => void) {
    this.#clock = clock;
    this.#fire = fire;
  }

  watch(limitMs: number, doing: string): void {
    this.stop();
    this.alive();
    this.#arm(limitMs, limitMs, doing);
  }

  alive(): void {
    this.#aliveAt = this.#clock.monotonic();
  }

  stop(): void {
    this.#timer?.cancel();
  }

  #arm(delayMs: number, limitMs: number, doing: string): void {
    this.#timer = this.#clock.timer(delayMs, () => {
      const leftMs = this.#aliveAt + limitMs - this.#clock.monotonic();
      if (leftMs > 0) this.#arm(leftMs, limitMs, doing);
      else this.#fire(limitMs, doing);
    });
  }
}

function readEvent(line: Uint8Array, context: RequestContext, defers: DefersMembers | undefined): WatchEvent {
  return (defers && deferredEvent(line, context, defers)) ?? parseEvent(textIn(line), context);
}

/** The lines of API servers begin like this. */
const deferredHeads = (['ADDED', 'MODIFIED'] as const).map((type) => ({ type, head: Buffer.from(eventHead(type)) }));

/** Undefined: parse the line as a whole. */
function deferredEvent(
  bytes: Uint8Array,
  { kind, request }: RequestContext,
  defers: DefersMembers,
): WatchEvent | undefined {
  const line = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const found = deferredHeads.find(
    ({ head }) => line.length > head.length && line.compare(head, 0, head.length, 0, head.length) === 0,
  );
  if (found === undefined || line[line.length - 1] !== closeBrace) return undefined;
  const object = readDeferred({ bytes, from: found.head.length, to: line.length - 1, defers });
  if (object === undefined) return undefined;
  checkItemKind(object, kind, request);
  return { type: found.type, object };
}

function parseEvent(line: string, asked: RequestContext): WatchEvent {
  const what = asked.request;
  let read: ReadValue;
  try {
    read = readValue(line, 'object');
  } catch (error) {
    throw new KubeProtocolError(what, 'the watch sent a line that is not JSON', error);
  }
  const { value: event, fault } = read;
  const type = valueAt(event, 'type');
  const object = valueAt(event, 'object');
  if (type === 'ERROR' && isObject(object)) throw new KubeApiError(statusOfObject(object, asked), what);
  if (type === 'BOOKMARK') {
    const bookmark = bookmarkOf(object, asked);
    if (bookmark !== undefined) return bookmark;
  } else if ((type === 'ADDED' || type === 'MODIFIED' || type === 'DELETED') && isKubeObject(object)) {
    checkItemKind(object, asked.kind, what);
    if (fault !== undefined) return { type, object: markAsHead(object, fault) };
    const text = Object.keys(event as object).length === 2 ? objectText(line, type) : undefined;
    return { type, object: text === undefined ? object : rememberText(object, text) };
  }
  throw new KubeProtocolError(what, 'the watch sent something that is not an event');
}

function bookmarkOf(object: Json | undefined, { kind, request }: RequestContext): WatchEvent | undefined {
  const resourceVersion = valueAt(object, 'metadata', 'resourceVersion');
  if (typeof resourceVersion !== 'string' || resourceVersion === '' || resourceVersion.length > maxVersionLength)
    return undefined;
  if (valueAt(object, 'metadata', 'annotations', initialEventsEnd) !== 'true')
    return { type: 'BOOKMARK', resourceVersion };
  // It removes all objects that the list lacks, so it must be about this kind.
  checkItemKind(kindOf(object), kind, request);
  return { type: 'BOOKMARK', resourceVersion, endsInitialEvents: true };
}

function kindOf(object: Json | undefined): Pick<KubeObject, 'apiVersion' | 'kind'> {
  const text = (name: string): string => {
    const value = valueAt(object, name);
    return typeof value === 'string' ? value : '';
  };
  return { apiVersion: text('apiVersion'), kind: text('kind') };
}

/** The text of the object in a line; undefined if API servers would write the line differently. */
function objectText(line: string, type: string): string | undefined {
  const head = eventHead(type);
  return line.startsWith(head) && line.endsWith('}}') ? line.slice(head.length, -1) : undefined;
}

function eventHead(type: string): string {
  return `{"type":"${type}","object":`;
}
