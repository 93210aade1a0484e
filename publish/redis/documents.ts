import type { RandomSource } from '#base';
import type { OwnershipFence } from '../types.ts';
import type { EncodedValue } from './encode.ts';

/** A key and its desired content. */
export interface StoredValue extends EncodedValue {
  readonly key: string;
}

/** Desired content of the store. */
export interface DocumentContent {
  readonly hash: string;
  /** In reading order: the first one has the number of parts. Empty: the keys are to be deleted. */
  readonly values: readonly StoredValue[];
  readonly ttlMs: number;
}

/** Identity of a document, and the keys of all its versions. */
export interface DocumentSubject {
  readonly id: string;
  /** The application; undefined for other documents. */
  readonly instance?: string;
  /** Keys that exist in every version. */
  readonly keys: readonly string[];
  /** Channel on which readers wait for changes. */
  readonly channel?: string;
}

/**
 * A published document: its desired content and its known state in the store. Changed only by
 * {@link DocumentStore}.
 */
export interface PublishedDocument {
  readonly subject: DocumentSubject;
  readonly fence: OwnershipFence;
  readonly content: { readonly hash: string; readonly ttlMs: number; readonly keys: readonly string[] };
  /** Undefined: evicted from memory. It must be published again before it can be written again. */
  readonly values: readonly StoredValue[] | undefined;
  /** Keys of earlier versions that this one lacks. */
  readonly surplus: readonly string[];
  /** Increases with every put: the result of an overtaken write is ignored. */
  readonly version: number;
  readonly dirty: boolean;
  /** Readers were not notified of this version yet. */
  readonly news: boolean;
  /** When it was put, on the monotonic clock. */
  readonly putAt: number;
}

type MutableFields<T> = { -readonly [K in keyof T]: T[K] };

/** Known content of a key in the store. */
interface StoredKeyState {
  readonly hash: string;
  /** When it must be written again, before it expires. */
  readonly renewAt: number;
}

interface DocumentState extends MutableFields<PublishedDocument> {
  waiters: Set<() => void>;
  /** By key, including earlier versions. */
  standing: Map<string, StoredKeyState>;
}

/**
 * Fraction of the time to live after which a value is renewed; jittered, so that renewals spread.
 */
const renewFraction = 0.75;
const renewSpread = 0.15;

/**
 * Bookkeeping without I/O of what this replica has published, and of what the store is known to
 * hold. Only the latest version of each dirty document is written, so that any number of changes
 * during an outage costs one write. Bytes are kept to refill a flushed store without comparing
 * again; beyond `maxBytes` the oldest are evicted, and their documents are reported as lost when
 * the store needs them.
 */
export class DocumentStore {
  readonly #maxBytes: number;
  readonly #random: RandomSource;
  readonly #all = new Map<string, DocumentState>();
  /** Documents with bytes, in the order of their last put or failure. */
  readonly #dirty = new Set<DocumentState>();
  /** Dirty documents without bytes that were not reported yet. */
  readonly #gone = new Set<DocumentState>();
  /** Documents with bytes, oldest first. */
  readonly #heavy = new Set<DocumentState>();
  #bytes = 0;
  #versions = 0;

  constructor(options: { readonly maxBytes: number; readonly random: RandomSource }) {
    this.#maxBytes = options.maxBytes;
    this.#random = options.random;
  }

  get size(): number {
    return this.#all.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Number of documents waiting to be written. */
  get waiting(): number {
    return this.#dirty.size + this.#gone.size;
  }

  get(id: string): PublishedDocument | undefined {
    return this.#all.get(id);
  }

  all(): Iterable<PublishedDocument> {
    return this.#all.values();
  }

  put(subject: DocumentSubject, content: DocumentContent, fence: OwnershipFence, now: number): void {
    const before = this.#all.get(subject.id);
    if (before !== undefined) this.#lighten(before);
    const keys = content.values.map(({ key }) => key);
    const known = [...subject.keys, ...(before === undefined ? [] : [...before.content.keys, ...before.surplus])];
    this.#versions += 1;
    const next: DocumentState = {
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
      standing: before?.standing ?? new Map<string, StoredKeyState>(),
    };
    if (before !== undefined) this.#clear(before);
    this.#all.set(subject.id, next);
    this.#dirty.add(next);
    this.#weigh(next);
  }

  /**
   * Keeps the content, but uses this fence for later writes. `values` are equal texts of other
   * objects.
   */
  confirm(document: PublishedDocument, fence: OwnershipFence, values?: readonly StoredValue[]): void {
    const kept = this.#current(document);
    if (kept === undefined) return;
    kept.fence = fence;
    if (kept.values === undefined || values === undefined) return;
    this.#bytes -= weight(kept);
    kept.values = values;
    this.#bytes += weight(kept);
  }

  /**
   * Begins a write; returns the values to send, the others are in the store already. The content of
   * their keys is unknown until the write succeeded.
   */
  begin(document: PublishedDocument): readonly StoredValue[] {
    const kept = this.#current(document);
    if (kept?.values === undefined) return [];
    const { standing } = kept;
    const open = kept.values.filter(({ key, hash }) => standing.get(key)?.hash !== hash);
    for (const { key } of open) standing.delete(key);
    for (const key of kept.surplus) standing.delete(key);
    return open;
  }

  /**
   * The next documents to write, longest waiting first; without evicted ones and those in
   * `without`.
   */
  next(count: number, without: ReadonlySet<string>): readonly PublishedDocument[] {
    const found: PublishedDocument[] = [];
    for (const document of this.#dirty) {
      if (found.length >= count) break;
      if (!without.has(document.subject.id)) found.push(document);
    }
    return found;
  }

  /** Dirty documents without bytes, each returned once: they must be published again. */
  takeGone(): readonly PublishedDocument[] {
    const gone = [...this.#gone];
    this.#gone.clear();
    return gone;
  }

  /** @param values the values that were sent */
  written(document: PublishedDocument, values: readonly StoredValue[], now: number): void {
    const kept = this.#current(document);
    if (kept === undefined) return;
    const renewAt = now + kept.content.ttlMs * (renewFraction + renewSpread * this.#random.next());
    for (const { key, hash } of values) kept.standing.set(key, { hash, renewAt });
    kept.news = false;
    kept.surplus = [];
    // The store may have lost the other values meanwhile.
    if (!isStanding(kept)) return;
    this.#clear(kept);
    kept.dirty = false;
    this.#wake(kept);
    if (kept.content.keys.length === 0) this.#forget(kept);
  }

  /** Moves it behind the others, so that a document that always fails does not block them. */
  failed(document: PublishedDocument): void {
    const kept = this.#current(document);
    if (kept === undefined || !this.#dirty.delete(kept)) return;
    this.#dirty.add(kept);
  }

  /** This replica no longer owns the document: no write, no deletion. */
  drop(document: PublishedDocument): void {
    const kept = this.#current(document);
    if (kept === undefined) return;
    this.#wake(kept);
    this.#forget(kept);
  }

  /** The store lost the document. */
  lost(document: PublishedDocument): void {
    const kept = this.#current(document);
    if (kept === undefined) return;
    kept.news = true;
    kept.standing.clear();
    this.#soil(kept);
  }

  /** Nothing is known about the store any more. */
  doubtAll(): void {
    for (const document of this.#all.values()) this.lost(document);
  }

  /** Marks documents that expire soon as dirty. */
  renew(now: number): void {
    for (const kept of this.#all.values()) {
      if (kept.dirty) continue;
      for (const [key, { renewAt }] of kept.standing) if (renewAt <= now) kept.standing.delete(key);
      if (!isStanding(kept)) this.#soil(kept);
    }
  }

  /** Resolves when this or a later version is in the store, or is not to be written any more. */
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

  /** Resolves all waiters. */
  wakeAll(): void {
    for (const kept of this.#all.values()) this.#wake(kept);
  }

  #current(document: PublishedDocument): DocumentState | undefined {
    const kept = this.#all.get(document.subject.id);
    return kept?.version === document.version ? kept : undefined;
  }

  #soil(kept: DocumentState): void {
    kept.dirty = true;
    (kept.values === undefined ? this.#gone : this.#dirty).add(kept);
  }

  #clear(kept: DocumentState): void {
    this.#dirty.delete(kept);
    this.#gone.delete(kept);
  }

  #wake(kept: DocumentState): void {
    for (const waiter of [...kept.waiters]) waiter();
  }

  #forget(kept: DocumentState): void {
    this.#lighten(kept);
    this.#clear(kept);
    this.#all.delete(kept.subject.id);
  }

  /** A removal takes no memory, and could not be published again. */
  #weigh(kept: DocumentState): void {
    if (weight(kept) === 0) return;
    this.#heavy.add(kept);
    this.#bytes += weight(kept);
    for (const oldest of this.#heavy) {
      if (this.#bytes <= this.#maxBytes || oldest === kept) break;
      this.#lighten(oldest);
    }
  }

  #lighten(kept: DocumentState): void {
    if (!this.#heavy.delete(kept)) return;
    this.#bytes -= weight(kept);
    kept.values = undefined;
    if (this.#dirty.delete(kept)) this.#gone.add(kept);
  }
}

function isStanding({ content, standing }: DocumentState): boolean {
  return content.keys.every((key) => standing.has(key));
}

/** Includes the marks that identify pieces. */
function weight({ values = [] }: PublishedDocument): number {
  let sum = 0;
  for (const { pieces } of values) for (const { bytes, marks } of pieces) sum += bytes.length + 8 * marks.length;
  return sum;
}
