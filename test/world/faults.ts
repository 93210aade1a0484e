/** A fault of one request on its way. Durations are in milliseconds. */
export type RequestFault =
  /** The connection is refused: nothing is sent. */
  | { readonly is: 'refused' }
  /** The connection is reset before the server acts. */
  | { readonly is: 'reset' }
  /** The server acts, and the connection is reset before its response. */
  | { readonly is: 'committed and reset' }
  /** The server never acts and never responds. */
  | { readonly is: 'no answer' }
  /** The server acts and never responds. */
  | { readonly is: 'committed, no answer' }
  /** The server acts late, as with a slow admission webhook. */
  | { readonly is: 'slow'; readonly ms: number }
  /** The server acts at once and responds late. */
  | { readonly is: 'late answer'; readonly ms: number }
  | { readonly is: 'status'; readonly code: number; readonly retryAfterS?: number }
  /** A refusal that quotes what was sent. */
  | { readonly is: 'echo' }
  /** A page of a proxy, with the code 200. */
  | { readonly is: 'not JSON' }
  /** The response ends in the middle. */
  | { readonly is: 'truncated' }
  /** A list of another kind, or another object. */
  | { readonly is: 'another kind' }
  /** A list of the right kind with objects of another. */
  | { readonly is: 'strange items' }
  /** The connection is reset, and the server acts later all the same. */
  | { readonly is: 'reset, committed late'; readonly ms: number }
  /** The server gets the request twice. */
  | { readonly is: 'duplicated' }
  /** Right before the server acts, a person marks the object as one to keep. */
  | { readonly is: 'overtaken' }
  /** The process dies before its request leaves, or after the server has acted on it. */
  | { readonly is: 'killed before' }
  | { readonly is: 'killed after' }
  /** The process is frozen right before it sends, or before the response arrives. */
  | { readonly is: 'frozen before'; readonly ms: number }
  | { readonly is: 'frozen after'; readonly ms: number };

/** A fault of the watches that are open on one server. */
export type WatchFault =
  /** No byte arrives any more. */
  | 'silent'
  | 'closed'
  /** The stream ends inside an event. */
  | 'cut'
  | 'expired'
  /** The next events arrive twice. */
  | 'repeated'
  /** The next two events arrive in the wrong order. */
  | 'reordered'
  /** The next event never arrives, while bookmarks do. */
  | 'lossy'
  /** A line that is not JSON. */
  | 'garbled'
  /** An event of another kind. */
  | 'another kind';

/** The requests that a fault hits. */
export interface FaultTarget {
  readonly to: string;
  readonly verbs: 'read' | 'write' | 'any' | 'list and watch' | 'watch';
  /** Index of the replica; undefined: any. */
  readonly by?: number | undefined;
  /** Only requests for this resource. */
  readonly resource?: string | undefined;
  /** Only requests in this namespace. */
  readonly namespace?: string | undefined;
}

export interface ArmedFault extends FaultTarget {
  readonly fault: RequestFault;
  /** Requests that it still hits, and until when. */
  left: number;
  readonly until: number;
}

/** Counts injected faults by kind. */
export class FaultCounts {
  readonly #counts = new Map<string, number>();

  add(kind: string, n = 1): void {
    this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + n);
  }

  merge(other: FaultCounts): void {
    for (const [kind, n] of other.#counts) this.add(kind, n);
  }

  /** Sorted by kind. */
  entries(): readonly (readonly [string, number])[] {
    return [...this.#counts].sort(([a], [b]) => (a < b ? -1 : 1));
  }

  total(): number {
    return [...this.#counts.values()].reduce((sum, n) => sum + n, 0);
  }
}

export function nameOfFault(fault: RequestFault): string {
  return fault.is === 'status'
    ? `status ${fault.code}${fault.retryAfterS === undefined ? '' : ' with Retry-After'}`
    : fault.is;
}
