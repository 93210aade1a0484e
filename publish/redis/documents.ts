import type { Random } from '#base';
import type { Fence } from '../types.ts';
import type { Encoded } from './encode.ts';

/** A stored key with what it is to hold. */
export interface StoredValue extends Encoded {
  readonly key: string;
}

/** What is to stand in the store. */
export interface Content {
  readonly hash: string;
  /** In the order of reading: the first one says how many there are. None: the keys are to go. */
  readonly values: readonly StoredValue[];
  readonly ttlMs: number;
}

/** What a document is about, and by which keys earlier versions of it may be known. */
export interface Subject {
  readonly id: string;
  /** Of the application; undefined for what is not about one. */
  readonly instance?: string;
  /** Keys that are there in any version. */
  readonly keys: readonly string[];
  /** Where readers wait for news of it. */
  readonly channel?: string;
}

/** One thing that is published: what it should be, and what is known of the store. Only {@link Documents} changes it. */
export interface Document {
  readonly subject: Subject;
  readonly fence: Fence;
  readonly content: { readonly hash: string; readonly ttlMs: number; readonly keys: readonly string[] };
  /** Undefined: given up for memory. It has to be published again before it can be written again. */
  readonly values: readonly StoredValue[] | undefined;
  /** Keys that an earlier version had and this one has not. */
  readonly surplus: readonly string[];
  /** Counts what is put: a write that was overtaken changes nothing. */
  readonly version: number;
  readonly dirty: boolean;
  /** Readers have not been told of this version. */
  readonly news: boolean;
  /** When it was put, by the monotonic clock. */
  readonly putAt: number;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** What the store is known to hold under a key. */
interface Standing {
  readonly hash: string;
  /** When it must be written again, before it expires. */
  readonly renewAt: number;
}

interface Kept extends Mutable<Document> {
  waiters: Set<() => void>;
  /** By key, of this version and of those before. */
  standing: Map<string, Standing>;
}

/** Part of its life after which a value is written again; spread, so that what was written together is not renewed together. */
const renewFrom = 0.75;
const renewSpread = 0.15;

/**
 * What this replica has published, and how much of it the store is known to hold. Plain bookkeeping without I/O: what is dirty has to be written,
 * the latest version of each document only, so that any number of changes while the store is away costs one value each.
 *
 * Bytes are kept, so that a flushed store can be filled again without comparing everything; beyond `maxBytes` the oldest ones are given up, and
 * their documents are told as lost when the store turns out to need them.
 */
export class Documents {
  readonly #maxBytes: number;
  readonly #random: Random;
  readonly #all = new Map<string, Kept>();
  /** Those with bytes, in the order in which they were put or failed last. */
  readonly #dirty = new Set<Kept>();
  /** Dirty ones without bytes that nobody has been told of. */
  readonly #gone = new Set<Kept>();
  /** Those with bytes, the oldest first. */
  readonly #heavy = new Set<Kept>();
  #bytes = 0;
  #versions = 0;

  constructor(options: { readonly maxBytes: number; readonly random: Random }) {
    this.#maxBytes = options.maxBytes;
    this.#random = options.random;
  }

  get size(): number {
    return this.#all.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** How many wait to be written. */
  get waiting(): number {
    return this.#dirty.size + this.#gone.size;
  }

  get(id: string): Document | undefined {
    return this.#all.get(id);
  }

  all(): Iterable<Document> {
    return this.#all.values();
  }

  put(subject: Subject, content: Content, fence: Fence, now: number): void {
    const before = this.#all.get(subject.id);
    if (before !== undefined) this.#lighten(before);
    const keys = content.values.map(({ key }) => key);
    const known = [...subject.keys, ...(before === undefined ? [] : [...before.content.keys, ...before.surplus])];
    this.#versions += 1;
    const next: Kept = {
      subject,
      fence,
      content: { hash: content.hash, ttlMs: content.ttlMs, keys },
      values: content.values,
      surplus: before === undefined && keys.length > 0 ? [] : [...new Set(known)].filter((key) => !keys.includes(key)),
      version: this.#versions,
      dirty: true,
      news: true,
      putAt: now,
      waiters: before?.waiters ?? new Set(),
      standing: before?.standing ?? new Map<string, Standing>(),
    };
    if (before !== undefined) this.#clear(before);
    this.#all.set(subject.id, next);
    this.#dirty.add(next);
    this.#weigh(next);
  }

  /** The value stays as it is; later writes of it are under this fence. `values` have the same texts, made of other objects. */
  confirm(document: Document, fence: Fence, values?: readonly StoredValue[]): void {
    const kept = this.#current(document);
    if (kept === undefined) return;
    kept.fence = fence;
    if (kept.values === undefined || values === undefined) return;
    this.#bytes -= weight(kept);
    kept.values = values;
    this.#bytes += weight(kept);
  }

  /**
   * A write begins: of which values it has to be. The others are in the store as they are. Until it has ended well, nobody knows what the store holds in their
   * place.
   */
  begin(document: Document): readonly StoredValue[] {
    const kept = this.#current(document);
    if (kept?.values === undefined) return [];
    const { standing } = kept;
    const open = kept.values.filter(({ key, hash }) => standing.get(key)?.hash !== hash);
    for (const { key } of open) standing.delete(key);
    for (const key of kept.surplus) standing.delete(key);
    return open;
  }

  /** The next ones to write, the longest waiting first. What has no bytes any more is not among them, nor what `without` names. */
  next(count: number, without: ReadonlySet<string>): readonly Document[] {
    const found: Document[] = [];
    for (const document of this.#dirty) {
      if (found.length >= count) break;
      if (!without.has(document.subject.id)) found.push(document);
    }
    return found;
  }

  /** What has to be written and has no bytes any more, each once: it has to be published again. */
  takeGone(): readonly Document[] {
    const gone = [...this.#gone];
    this.#gone.clear();
    return gone;
  }

  /** @param values those that were sent */
  written(document: Document, values: readonly StoredValue[], now: number): void {
    const kept = this.#current(document);
    if (kept === undefined) return;
    const renewAt = now + kept.content.ttlMs * (renewFrom + renewSpread * this.#random.next());
    for (const { key, hash } of values) kept.standing.set(key, { hash, renewAt });
    kept.news = false;
    kept.surplus = [];
    // The store may have lost those that were not sent, meanwhile.
    if (!isStanding(kept)) return;
    this.#clear(kept);
    kept.dirty = false;
    this.#wake(kept);
    if (kept.content.keys.length === 0) this.#forget(kept);
  }

  /** It goes behind the others, so that one that can never be written does not keep them from it. */
  failed(document: Document): void {
    const kept = this.#current(document);
    if (kept === undefined || !this.#dirty.delete(kept)) return;
    this.#dirty.add(kept);
  }

  /** This replica has nothing to say about it any more: no write, and no deletion either. */
  drop(document: Document): void {
    const kept = this.#current(document);
    if (kept === undefined) return;
    this.#wake(kept);
    this.#forget(kept);
  }

  /** The store does not have it. */
  lost(document: Document): void {
    const kept = this.#current(document);
    if (kept === undefined) return;
    kept.news = true;
    kept.standing.clear();
    this.#soil(kept);
  }

  /** Nothing is known of the store any more. */
  doubtAll(): void {
    for (const document of this.#all.values()) this.lost(document);
  }

  /** What would soon expire has to be written again. */
  renew(now: number): void {
    for (const kept of this.#all.values()) {
      if (kept.dirty) continue;
      for (const [key, { renewAt }] of kept.standing) if (renewAt <= now) kept.standing.delete(key);
      if (!isStanding(kept)) this.#soil(kept);
    }
  }

  /** Resolves when the document, or a later version of it, stands in the store, or nobody means to write it any more. */
  settled(id: string, signal: AbortSignal): Promise<void> {
    const kept = this.#all.get(id);
    if (kept?.dirty !== true) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const { waiters } = kept;
      const onAbort = (): void => {
        waiters.delete(done);
        reject(signal.reason as Error);
      };
      const done = (): void => {
        waiters.delete(done);
        signal.removeEventListener('abort', onAbort);
        resolve();
      };
      signal.addEventListener('abort', onAbort, { once: true });
      waiters.add(done);
    });
  }

  /** Lets everybody go who waits. */
  wakeAll(): void {
    for (const kept of this.#all.values()) this.#wake(kept);
  }

  #current(document: Document): Kept | undefined {
    const kept = this.#all.get(document.subject.id);
    return kept?.version === document.version ? kept : undefined;
  }

  #soil(kept: Kept): void {
    kept.dirty = true;
    (kept.values === undefined ? this.#gone : this.#dirty).add(kept);
  }

  #clear(kept: Kept): void {
    this.#dirty.delete(kept);
    this.#gone.delete(kept);
  }

  #wake(kept: Kept): void {
    for (const waiter of [...kept.waiters]) waiter();
  }

  #forget(kept: Kept): void {
    this.#lighten(kept);
    this.#clear(kept);
    this.#all.delete(kept.subject.id);
  }

  /** A removal weighs nothing, and nobody could publish it again. */
  #weigh(kept: Kept): void {
    if (weight(kept) === 0) return;
    this.#heavy.add(kept);
    this.#bytes += weight(kept);
    for (const oldest of this.#heavy) {
      if (this.#bytes <= this.#maxBytes || oldest === kept) break;
      this.#lighten(oldest);
    }
  }

  #lighten(kept: Kept): void {
    if (!this.#heavy.delete(kept)) return;
    this.#bytes -= weight(kept);
    kept.values = undefined;
    if (this.#dirty.delete(kept)) this.#gone.add(kept);
  }
}

function isStanding({ content, standing }: Kept): boolean {
  return content.keys.every((key) => standing.has(key));
}

/** With the marks by which pieces are known again. */
function weight({ values = [] }: Document): number {
  let sum = 0;
  for (const { pieces } of values) for (const { bytes, marks } of pieces) sum += bytes.length + 8 * marks.length;
  return sum;
}
