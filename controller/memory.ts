import { RowStore } from '#compare';
import type { DryRunOutcome } from '#compare';
import type { TreeRoot } from '#compare';
import type { AppKey, ResourceKey } from '#model';
import type { ApplyGate } from './apply-gate.ts';
import type { CompareLevel } from './freshness.ts';
import { TreeStore } from './tree-store.ts';

/** What this process remembers of an application beyond its object. Losing it (restart, hand-over) costs a comparison, nothing else. */
export interface AppMemory {
  /** When a comparison at level 2 or deeper last succeeded. */
  comparedAt?: number;
  /** When the application itself was last found changed, by the monotonic clock. */
  seenAt?: number;
  /** Since when the source cannot be read. */
  sourceFailedAt?: number;
  /** The last comparison could not read one of its sides. */
  unreadable?: boolean;
  /** When a comparison last found it OutOfSync. */
  driftSeenAt?: number;
  /** Managed resources of the last comparison, for the tree. */
  roots?: readonly TreeRoot[];
  lastRefresh?: { readonly at: number; readonly reason: string; readonly level: CompareLevel };
  /** What it waits for, and until when (0: unknown). */
  waiting?: { readonly what: string; readonly since: number; readonly until: number };
  /** Of the operation that this process has begun: when what was found meanwhile is told; without a time nothing waits to be. Absent: none runs, or it was begun elsewhere. */
  telling?: { at?: number };
  /** The end of its operation is on its way, with a comparison: what else was found meanwhile is told after it, if there is anything left to tell. */
  ending?: true;
  /** The same of its deletion. */
  leaving?: { readonly what: string; readonly since: number };
  /** Since when an operation is to end whose cluster does not answer. */
  terminatingSince?: number;
  /** `<Kind>/<name>: <paths>` of the first differences. */
  differences?: readonly string[];
}

/** What an API server said to a dry run, and what that follows from. */
export interface KnownDryRun {
  readonly id: string;
  readonly outcome: DryRunOutcome;
}

/** The memories of all applications that this replica looks after. */
export class Memories {
  /** What the last comparison of each application found out about its resources. */
  readonly rows = new RowStore();
  /** The trees that belong to them. */
  readonly trees = new TreeStore();
  /** Answers of server-side diff, for as long as what they follow from is the same. */
  readonly dryRuns = new Map<AppKey, ReadonlyMap<ResourceKey, KnownDryRun>>();
  /** What was sent to clusters, and need not be sent again; absent: this process sends nothing. */
  readonly gate: ApplyGate | undefined;
  readonly #byKey = new Map<AppKey, AppMemory>();

  constructor(gate?: ApplyGate) {
    this.gate = gate;
  }

  /** The memory of an application, made on first use; change it in place. */
  of(key: AppKey): AppMemory {
    const known = this.#byKey.get(key) ?? {};
    this.#byKey.set(key, known);
    return known;
  }

  /** What is remembered, without making a memory. */
  peek(key: AppKey): AppMemory | undefined {
    return this.#byKey.get(key);
  }

  forget(key: AppKey): void {
    this.#byKey.delete(key);
    this.rows.forget(key);
    this.trees.forget(key);
    this.dryRuns.delete(key);
    this.gate?.forget(key);
  }

  get size(): number {
    return this.#byKey.size;
  }
}
