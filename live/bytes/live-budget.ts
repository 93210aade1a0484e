/** Memory limits in bytes. Sizes are estimates, see `row-size.ts`. */
export interface LiveLimits {
  /** Limit of each cluster. */
  readonly clusterBytes: number;
  /** Limit of all clusters together. */
  readonly totalBytes: number;
}

const mebibyte = 1024 * 1024;

/** Used if the heap limit is unknown. */
export const defaultLiveLimits: LiveLimits = { clusterBytes: 1024 * mebibyte, totalBytes: 1536 * mebibyte };

/** Memory of a watched kind without objects: connection, timers, state. */
const kindBytes = 32 * 1024;

/** Maximum number of watched kinds of a cluster: as many as fit into a quarter of its limit. */
export function maxKindsIn(clusterBytes: number): number {
  return Math.min(10_000, Math.max(500, Math.floor(clusterBytes / 4 / kindBytes)));
}

/** The live state of one cluster, which can be reduced. */
export interface LiveStateHolder {
  readonly bytes: number;
  /** Bytes without those that are already being released. */
  readonly retainedBytes: number;
  /** Releases memory until at most this many bytes are retained. */
  shed(downToBytes: number, why: string): void;
}

/** Bodies are restored once they fit into this share of the limit; low enough to avoid flapping. */
const restoreShare = 0.5;

/** Shed down to this share of the limit, so that the next object does not exceed it again. */
const shedToShare = 0.9;

/**
 * Limits the live state of all clusters. Each cluster has a limit, because its tenants decide how
 * many objects it has. A tenant may own several clusters, so there is also a common limit: if it is
 * exceeded, the largest cluster sheds memory.
 */
export class LiveBudget {
  readonly limits: LiveLimits;
  /** Advice for messages: how to make a cluster take less memory. */
  readonly remedy: string;
  readonly #holders = new Set<LiveStateHolder>();
  #bytes = 0;

  constructor(limits: LiveLimits = defaultLiveLimits, remedy = 'exclude kinds') {
    this.limits = limits;
    this.remedy = remedy;
  }

  get bytes(): number {
    return this.#bytes;
  }

  add(holder: LiveStateHolder): void {
    this.#holders.add(holder);
  }

  /** The cluster is no longer watched. */
  remove(holder: LiveStateHolder): void {
    if (this.#holders.delete(holder)) this.#bytes -= holder.bytes;
  }

  /** Must be called for every change of a holder's size. */
  noteChange(holder: LiveStateHolder, bytes: number): void {
    if (!this.#holders.has(holder)) return;
    this.#bytes += bytes;
    if (bytes <= 0) return;
    const { clusterBytes, totalBytes } = this.limits;
    if (holder.bytes > clusterBytes)
      holder.shed(clusterBytes * shedToShare, this.#limitText('of one cluster', clusterBytes));
    if (this.#bytes > totalBytes) this.#shedLargest();
  }

  /** Whether a holder that has shed memory may take this many bytes again. */
  hasRoom(holder: LiveStateHolder, bytes: number): boolean {
    const { clusterBytes, totalBytes } = this.limits;
    return holder.bytes + bytes <= clusterBytes * restoreShare && this.#bytes + bytes <= totalBytes * restoreShare;
  }

  #limitText(whose: string, bytes: number): string {
    return `the limit ${whose} is ${bytes} bytes; ${this.remedy}`;
  }

  #shedLargest(): void {
    const { totalBytes } = this.limits;
    let [kept, largest]: [number, LiveStateHolder | undefined] = [0, undefined];
    for (const holder of this.#holders) {
      kept += holder.retainedBytes;
      if (largest === undefined || holder.retainedBytes > largest.retainedBytes) largest = holder;
    }
    const surplus = kept - totalBytes * shedToShare;
    if (kept <= totalBytes || largest === undefined) return;
    largest.shed(Math.max(0, largest.retainedBytes - surplus), this.#limitText('of all clusters together', totalBytes));
  }
}
