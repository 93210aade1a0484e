import { at, DeadlineExceeded, isObject, newAbortController, yieldToLoop } from '#base';
import type { Clock, Timer } from '#base';
import { isKubeObject, statusOfObject } from './answers.ts';
import type { Asked } from './answers.ts';
import { KubeApiError, KubeProtocolError } from './errors.ts';
import type { Exchange, Spec } from './exchange.ts';
import { asHead, asRead, readValue } from './head.ts';
import type { ReadValue } from './head.ts';
import { LineSplitter } from './list-splitter.ts';
import type { WatchEvent } from './types.ts';

const sliceBytes = 256 * 1024;

/**
 * The events of one watch request. Reading is pulled by the consumer: while it works on an event nothing more is read, and TCP or HTTP/2
 * flow control holds the server back.
 */
export async function* watchStream(exchange: Exchange, spec: Spec, onOpen?: () => void): AsyncGenerator<WatchEvent> {
  const what = exchange.describe(spec);
  const life = newAbortController();
  const end = (): void => life.abort(spec.signal.reason);
  spec.signal.throwIfAborted();
  spec.signal.addEventListener('abort', end, { once: true });
  const watchdog = new Watchdog(exchange.clock, (limitMs, doing) =>
    life.abort(new DeadlineExceeded(`${what}: ${doing}`, limitMs)),
  );
  // A consumer that has stopped pulling may never come back to the finally below.
  life.signal.addEventListener('abort', () => watchdog.stop(), { once: true });
  try {
    watchdog.watch(spec.deadlineMs ?? exchange.limits.deadlineMs, 'opening the watch');
    const response = await exchange.open({ ...spec, signal: life.signal });
    watchdog.watch(exchange.limits.watchIdleMs, 'the silence');
    onOpen?.();
    const lines = new LineSplitter();
    let sinceTurn = 0;
    for await (const chunk of response.body) {
      watchdog.alive();
      for (const line of lines.push(chunk)) yield parseEvent(line, exchange.asked(spec));
      watchdog.alive();
      sinceTurn += chunk.length;
      if (sinceTurn < sliceBytes) continue;
      sinceTurn = 0;
      await yieldToLoop();
    }
    if (lines.rest() !== '') throw new KubeProtocolError(what, 'the watch was cut off inside an event');
  } finally {
    watchdog.stop();
    spec.signal.removeEventListener('abort', end);
    life.abort(spec.signal.aborted ? spec.signal.reason : new Error('the watch is over'));
  }
}

/** Fires when nothing was alive for the limit. One timer for any number of signs of life. */
class Watchdog {
  readonly #clock: Clock;
  readonly #fire: (limitMs: number, doing: string) => void;
  #aliveAt = 0;
  #timer: Timer | undefined;

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

function parseEvent(line: string, asked: Asked): WatchEvent {
  const what = asked.request;
  let read: ReadValue;
  try {
    read = readValue(line, 'object');
  } catch (error) {
    throw new KubeProtocolError(what, 'the watch sent a line that is not JSON', error);
  }
  const { value: event, fault } = read;
  const type = at(event, 'type');
  const object = at(event, 'object');
  if (type === 'ERROR' && isObject(object)) throw new KubeApiError(statusOfObject(object, asked), what);
  if (type === 'BOOKMARK') {
    const resourceVersion = at(object, 'metadata', 'resourceVersion');
    if (typeof resourceVersion === 'string' && resourceVersion !== '') return { type, resourceVersion };
  } else if ((type === 'ADDED' || type === 'MODIFIED' || type === 'DELETED') && isKubeObject(object)) {
    if (fault !== undefined) return { type, object: asHead(object, fault) };
    const text = Object.keys(event as object).length === 2 ? objectText(line, type) : undefined;
    return { type, object: text === undefined ? object : asRead(object, text) };
  }
  throw new KubeProtocolError(what, 'the watch sent something that is not an event');
}

/** The object's part of a line that is written as API servers write them. */
function objectText(line: string, type: string): string | undefined {
  const head = `{"type":"${type}","object":`;
  return line.startsWith(head) && line.endsWith('}}') ? line.slice(head.length, -1) : undefined;
}
