import { deepEqual, isObject, parseJson, stringifyJson } from '#base';
import type { Clock, Timer } from '#base';
import { rawTextOf } from '#kube';
import { asReading, jsonOf, nextReading } from '#model';
import type { KubeObject } from '#model';

/**
 * A whole object as the text that it was read from: half of what it takes as a value, and nothing that the garbage collector has to walk through. It is
 * parsed when somebody asks for it. managedFields are in it: rules of single Applications may need them, which nobody here knows.
 */
export class Body {
  readonly apiVersion: string;
  readonly kind: string;
  readonly text: string;
  /** Of every object that is made from it. */
  readonly reading = nextReading();

  constructor(object: KubeObject) {
    this.apiVersion = object.apiVersion;
    this.kind = object.kind;
    this.text = rawTextOf(object) ?? stringifyJson(jsonOf(object));
  }

  /** An equal object each time. */
  parse(): KubeObject {
    const value = parseJson(this.text);
    if (!isObject(value)) throw new TypeError('what was read as an object is none');
    // Lists leave out what all their items have in common.
    const named = typeof value['apiVersion'] === 'string' && typeof value['kind'] === 'string';
    const { apiVersion, kind } = this;
    return asReading((named ? value : { ...value, apiVersion, kind }) as unknown as KubeObject, this.reading);
  }

  /** Whether an object is the same. */
  holds(object: KubeObject): boolean {
    if (this.apiVersion !== object.apiVersion) return false;
    return this.text === rawTextOf(object) || deepEqual(jsonOf(this.parse()), jsonOf(object));
  }
}

/** What is read again within this time stays parsed: longer than from one resync to the next. */
const keptMs = 300_000;
/** Text of what stays parsed, at most; parsed it takes about three times as much. */
const keptLength = 24 * 1024 * 1024;

/**
 * Parses bodies, and keeps for a while what it has parsed: an Application is read again at each event and each resync. What was not asked for
 * during one to two turns of the clock is dropped. Once it is full it takes nothing more until then: who reads
 * more than fits, from first to last, would otherwise find nothing of it the next time.
 */
export class ParsedBodies {
  readonly #clock: Pick<Clock, 'timer'>;
  readonly #limit: number;
  #recent = new Map<Body, KubeObject>();
  #before = new Map<Body, KubeObject>();
  #recentLength = 0;
  #beforeLength = 0;
  #timer: Timer | undefined;
  #stopped = false;

  constructor(clock: Pick<Clock, 'timer'>, limit = keptLength) {
    this.#clock = clock;
    this.#limit = limit;
  }

  /** How many objects are kept parsed now. */
  get size(): number {
    return this.#recent.size + this.#before.size;
  }

  /** The object that was parsed before, if it is still there. */
  known(body: Body): KubeObject | undefined {
    const recent = this.#recent.get(body);
    if (recent !== undefined) return recent;
    const before = this.#before.get(body);
    if (before === undefined) return undefined;
    this.#before.delete(body);
    this.#beforeLength -= body.text.length;
    this.#keep(body, before);
    return before;
  }

  read(body: Body): KubeObject {
    const known = this.known(body);
    if (known !== undefined) return known;
    const object = body.parse();
    if (this.#recentLength + this.#beforeLength + body.text.length <= this.#limit) this.#keep(body, object);
    return object;
  }

  /** Drops everything, for good. */
  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#recent.clear();
    this.#before.clear();
  }

  #keep(body: Body, object: KubeObject): void {
    if (this.#stopped) return;
    this.#recent.set(body, object);
    this.#recentLength += body.text.length;
    this.#timer ??= this.#clock.timer(keptMs, () => this.#turn());
  }

  #turn(): void {
    this.#timer = undefined;
    this.#before = this.#recent;
    this.#beforeLength = this.#recentLength;
    this.#recent = new Map();
    this.#recentLength = 0;
    if (this.#before.size > 0) this.#timer = this.#clock.timer(keptMs, () => this.#turn());
  }
}
