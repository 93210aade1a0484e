import type { Logger } from '#telemetry';
import type { NodeStore } from '../store/node-store.ts';
import type { LiveBudget, LiveStateHolder } from './live-budget.ts';

/** Suspends the watches of a kind and drops its rows. */
export interface KindSuspender {
  /**
   * Suspends all watches of `group/kind` for a while. The returned function reports whether they
   * are still suspended; undefined if the kind is not watched.
   */
  suspend(kindText: string, why: string): (() => boolean) | undefined;
}

/** A kind whose bodies are not kept, and the bytes that it took before. */
interface BodylessKind {
  readonly message: string;
  readonly bodies: number;
  readonly rows: number;
}

/**
 * Keeps a cluster within its memory limit. The largest kind drops its whole objects, which are then
 * read one by one for comparisons. If it is still the largest kind, its watch is suspended and the
 * kind becomes degraded. Objects of such a kind are not pruned; other kinds and clusters are
 * unaffected. Once the cluster is small enough, bodies are kept again from the next read or change
 * on.
 */
export class MemoryShedder implements LiveStateHolder {
  readonly #store: NodeStore;
  readonly #kinds: KindSuspender;
  readonly #logger: Logger;
  /** Kinds whose watches are suspended. Their rows are being dropped. */
  readonly #suspended = new Map<string, () => boolean>();
  readonly #bodyless = new Map<string, BodylessKind>();
  readonly #budget: LiveBudget;

  constructor(parts: {
    readonly store: NodeStore;
    readonly kinds: KindSuspender;
    readonly budget: LiveBudget;
    readonly logger: Logger;
  }) {
    const { store, budget } = parts;
    this.#store = store;
    this.#kinds = parts.kinds;
    this.#logger = parts.logger;
    this.#budget = budget;
    budget.add(this);
    store.sizes.onChange = (bytes) => {
      budget.noteChange(this, bytes);
      if (bytes < 0 && this.#bodyless.size > 0 && budget.hasRoom(this, 0)) this.#restoreBodies();
    };
  }

  get bytes(): number {
    return this.#store.sizes.bytes;
  }

  get retainedBytes(): number {
    let bytes = this.#store.sizes.bytes;
    for (const [kindText, isStopped] of this.#suspended) {
      const { rows, bodies } = this.#store.sizes.ofKind(kindText);
      if (isStopped()) bytes -= rows + bodies;
      else this.#suspended.delete(kindText);
    }
    return bytes;
  }

  /** Why bodies of a kind are not kept; undefined if they are. */
  bodylessReason(kindText: string): string | undefined {
    return this.#bodyless.get(kindText)?.message;
  }

  shed(downToBytes: number, why: string): void {
    const { sizes } = this.#store;
    while (this.retainedBytes > downToBytes) {
      const kindText = sizes.largest((kind) => !this.#suspended.has(kind));
      if (kindText === undefined) return;
      const { rows, bodies } = sizes.ofKind(kindText);
      const facts = { kind: kindText, bytes: rows + bodies, cluster_bytes: sizes.bytes, reason: why };
      if (bodies > 0) {
        const message = `its objects are not kept whole but read one by one, because they took ${bodies} bytes: ${why}`;
        this.#bodyless.set(kindText, { message, bodies, rows });
        this.#logger.warn(
          'A cluster exceeds its memory limit; objects of its largest kind are no longer kept whole',
          facts,
        );
        this.#store.dropBodies(kindText);
        continue;
      }
      const message = `it is no longer watched, because its ${this.#countOf(kindText)} objects took ${rows} bytes: ${why}. Watching is retried every ten minutes`;
      const isStopped = this.#kinds.suspend(kindText, message);
      if (isStopped === undefined) return;
      this.#logger.error('A cluster exceeds its memory limit; its largest kind is no longer watched', facts);
      this.#suspended.set(kindText, isStopped);
    }
  }

  #restoreBodies(): void {
    for (const [kindText, { bodies, rows }] of this.#bodyless) {
      const left = rows === 0 ? 0 : this.#store.sizes.ofKind(kindText).rows / rows;
      if (!this.#budget.hasRoom(this, bodies * left)) continue;
      this.#bodyless.delete(kindText);
      this.#store.keepBodies(kindText);
      this.#logger.info('Objects of a kind are kept whole again', { kind: kindText, cluster_bytes: this.bytes });
    }
  }

  #countOf(kindText: string): number {
    const slash = kindText.indexOf('/');
    return this.#store.countOfKind(kindText.slice(0, slash), kindText.slice(slash + 1));
  }
}
