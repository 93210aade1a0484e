import { deepEqual, isObject, parseJson, stringifyJson } from '#base';
import type { Clock, ClockTimer } from '#base';
import { rawTextOf } from '#kube';
import { withContentId, jsonOf, nextContentId } from '#model';
import type { KubeObject } from '#model';
import { sizeOfText } from './row-size.ts';

/**
 * A whole object, stored as the text that was read: half the memory of a parsed object, and opaque
 * to the garbage collector. Parsed on demand. Includes managedFields, because ignore rules of
 * single Applications may need them.
 */
export class ObjectBody {
  readonly apiVersion: string;
  readonly kind: string;
  readonly text: string;
  /** Estimated memory. */
  readonly bytes: number;
  /** The content id of every object parsed from this body. */
  readonly contentId = nextContentId();

  constructor(object: KubeObject) {
    this.apiVersion = object.apiVersion;
    this.kind = object.kind;
    this.text = rawTextOf(object) ?? stringifyJson(jsonOf(object));
    this.bytes = sizeOfText(this.text) + bodyOverheadBytes;
  }

  /** Returns a new but equal object each time. */
  parse(): KubeObject {
    const value = parseJson(this.text);
    if (!isObject(value)) throw new TypeError('the stored text is not an object');
    // Items of a list have neither apiVersion nor kind.
    const named = typeof value['apiVersion'] === 'string' && typeof value['kind'] === 'string';
    const { apiVersion, kind } = this;
    return withContentId((named ? value : { ...value, apiVersion, kind }) as unknown as KubeObject, this.contentId);
  }

  isSameAs(object: KubeObject): boolean {
    if (this.apiVersion !== object.apiVersion) return false;
    return this.text === rawTextOf(object) || deepEqual(jsonOf(this.parse()), jsonOf(object));
  }

  equals(other: ObjectBody): boolean {
    if (this.apiVersion !== other.apiVersion) return false;
    return this.text === other.text || deepEqual(jsonOf(this.parse()), jsonOf(other.parse()));
  }
}

/** Memory besides the text. */
const bodyOverheadBytes = 100;
/** Objects read again within this time stay parsed; longer than the resync period. */
const parsedTtlMs = 300_000;
/** Limit of the text length of parsed objects. Parsed, they take about three times as much. */
export const maxParsedLength = 24 * 1024 * 1024;

/**
 * Parses bodies and caches the objects, because an Application is read again at each event and
 * resync. Objects that were not read for one to two TTLs are dropped. A full cache takes no more
 * objects until then: if it evicted, repeated reads of more than it holds would always miss.
 */
export class ParsedBodies {
  readonly #clock: Pick<Clock, 'timer'>;
  readonly #limit: number;
  #recent = new Map<ObjectBody, KubeObject>();
  #before = new Map<ObjectBody, KubeObject>();
  #recentLength = 0;
  #beforeLength = 0;
  #timer: ClockTimer | undefined;
  #stopped = false;

  constructor(clock: Pick<Clock, 'timer'>, limit = maxParsedLength) {
    this.#clock = clock;
    this.#limit = limit;
  }

  /** Number of cached objects. */
  get size(): number {
    return this.#recent.size + this.#before.size;
  }

  /** The cached object, if any. */
  known(body: ObjectBody): KubeObject | undefined {
    const recent = this.#recent.get(body);
    if (recent !== undefined) return recent;
    const before = this.#before.get(body);
    if (before === undefined) return undefined;
    this.#before.delete(body);
    this.#beforeLength -= body.text.length;
    this.#keep(body, before);
    return before;
  }

  read(body: ObjectBody): KubeObject {
    const known = this.known(body);
    if (known !== undefined) return known;
    const object = body.parse();
    if (this.#hasRoom(body)) this.#keep(body, object);
    return object;
  }

  /**
   * Keeps the object that the body was just made of, which the next comparison reads. It must never
   * be changed. Undefined: the object is not kept whole.
   */
  hold(body: ObjectBody | undefined, object: KubeObject): void {
    if (body === undefined || this.known(body) !== undefined || !this.#hasRoom(body)) return;
    this.#keep(body, withContentId(object, body.contentId));
  }

  /** Drops the object of a body that was replaced: it is not read again. */
  forget(body: ObjectBody): void {
    if (this.#recent.delete(body)) this.#recentLength -= body.text.length;
    if (this.#before.delete(body)) this.#beforeLength -= body.text.length;
  }

  /** Drops all objects and stays empty. */
  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#recent.clear();
    this.#before.clear();
  }

  #hasRoom(body: ObjectBody): boolean {
    return this.#recentLength + this.#beforeLength + body.text.length <= this.#limit;
  }

  #keep(body: ObjectBody, object: KubeObject): void {
    if (this.#stopped) return;
    this.#recent.set(body, object);
    this.#recentLength += body.text.length;
    this.#timer ??= this.#clock.timer(parsedTtlMs, () => this.#rotate());
  }

  #rotate(): void {
    this.#timer = undefined;
    this.#before = this.#recent;
    this.#beforeLength = this.#recentLength;
    this.#recent = new Map();
    this.#recentLength = 0;
    if (this.#before.size > 0) this.#timer = this.#clock.timer(parsedTtlMs, () => this.#rotate());
  }
}
