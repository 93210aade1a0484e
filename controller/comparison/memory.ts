import { RowStore } from '#compare';
import type { DryRunOutcome, TreeRoot } from '#compare';
import type { AppKey, Application, ApplicationSource, OperationState, ResourceKey } from '#model';
import type { RefreshBudget } from '../admission/refresh-budget.ts';
import type { ApplyGate } from '../write/apply-gate.ts';
import type { AutosyncObservation } from '../application/autosync-checks.ts';
import { PassLog } from '../recorder/pass-log.ts';
import { ActivityLog } from '../report/activity.ts';
import type { PassRecord } from '../report/activity.ts';
import type { WaitReason } from '../shared/waits.ts';
import type { LiveSight, RestingPass } from './basis.ts';
import type { ContestMemory } from './contest.ts';
import { OwnedReads } from './owned-reads.ts';
import { RecordTurns } from './record-turns.ts';
import { StatusHold } from './status-hold.ts';
import { TreeStore } from './tree-store.ts';

/**
 * In-memory state of one application. Losing it (restart, hand-over) costs one comparison. A live
 * view: only {@link AppMemories.note} changes it.
 */
export interface AppMemory {
  /** Delays the status writes of refreshes while an operation runs. */
  readonly hold: StatusHold;
  /** When a comparison at level 2 or deeper last succeeded. */
  readonly comparedAt?: number;
  /** Remaining budget of user-requested refreshes; absent: full. */
  readonly asks?: RefreshBudget;
  /** When the Application object last changed, by the monotonic clock. */
  readonly seenAt?: number;
  /** Since when the source has been unreadable. */
  readonly sourceFailedAt?: number;
  /** The error of the source that a comparison with it reported; absent: tolerated, or none. */
  readonly sourceError?: string;
  /** Until then no comparison reads the source again, by the monotonic clock. */
  readonly sourceRetryAt?: number;
  /** The sources and revisions of the last comparison with readable sources. */
  readonly lastGood?: { readonly sources: readonly ApplicationSource[]; readonly revisions: readonly string[] };
  /** A live object changed: ends the wait of the pass for slow sources. */
  readonly hurry?: () => void;
  /** The last comparison could not read one of its sides in full, so it is repeated soon. */
  readonly unreadable?: boolean;
  /** A comparison that had to resolve its revisions again did not reach a repository. */
  readonly owesResolution?: boolean;
  /** How many passes in a row have blocked the event loop for long. */
  readonly consecutiveHolds?: number;
  /** When a comparison last found it OutOfSync. */
  readonly driftSeenAt?: number;
  /** Recent writes of self-heal, and the objects that another writer fights over. */
  readonly contests?: ContestMemory;
  /** The last pass, if it left nothing to do. */
  readonly resting?: RestingPass;
  /** The live objects of the last comparison whose result is stored. */
  readonly sight?: LiveSight;
  /** When all resources are to be compared again, by the monotonic clock. */
  readonly fullComparisonDueAt?: number;
  /** Managed resources of the last comparison, for the tree. */
  readonly roots?: readonly TreeRoot[];
  /** The last pass, which may still run. */
  readonly lastPass?: PassRecord;
  /** A write has shown since then that the known version of the Application was current. */
  readonly isCurrent?: true;
  /** When this replica took it up, and why. */
  readonly owned?: { readonly at: number; readonly reason: string };
  /** Inputs of the last decision about automated sync. */
  readonly autosync?: AutosyncObservation;
  /** The reason it waits, and until when (0: unknown). */
  readonly waiting?: WaitReason & { readonly since: number; readonly until: number };
  /** Objects that this replica has deleted with the Application. */
  readonly deletedObjects?: number;
  /** Since when nothing claims the cluster of a deleted Application, by the monotonic clock. */
  readonly unclaimedSince?: number;
  /** The reason its deletion is blocked, and since when. */
  readonly deletionBlockedBy?: WaitReason & { readonly since: number };
  /** When the next step of its deletion may run, and how long writes of failed steps delay it. */
  readonly deletionPause?: { readonly until: number; readonly ms: number };
  /** The objects that this deletion has deleted: what is there without a mark later is not ours. */
  readonly deletedKeys?: ReadonlySet<ResourceKey>;
  /** Finalizers that were removed in this deletion. */
  readonly removedFinalizers?: ReadonlySet<string>;
  /** The PostDelete hooks were created: one that is a PreDelete hook too has run as such. */
  readonly hasPostDeleteBegun?: true;
  /** The delete hooks that this replica has created: one that is missing was deleted by others. */
  readonly createdHooks?: ReadonlySet<ResourceKey>;
  /** When its delete hooks were first seen to have failed. */
  readonly hooksFailedAt?: number;
  /** The version that our last write of a running operation stored, and when (monotonic). */
  readonly operationWrite?: { readonly version: string; readonly at: number };
  /** A self-heal that writes before it is recorded in the Application. */
  readonly repair?: UnrecordedRepair;
  /** The last repair did not succeed without a record: the next operation is recorded first. */
  readonly hasRepairFailed?: true;
  /** The wave applied last, and when, by the monotonic clock. A restart restarts the wave delay. */
  readonly wave?: { readonly name: string; readonly at: number };
  /** Since when a terminating operation has waited for an unresponsive cluster. */
  readonly terminatingSince?: number;
  /** The first differences as `<Kind>/<name>: <paths>`. */
  readonly differences?: readonly string[];
}

/** The Application that a repair was decided for, and the operation with which it begins. */
export interface UnrecordedRepair {
  readonly before: Application;
  readonly state: OperationState;
}

/** Members to set; undefined removes one. */
export type MemoryChange = { readonly [K in Exclude<keyof AppMemory, 'hold'>]?: AppMemory[K] | undefined };

/** The version that our write of a running operation has stored. */
export function operationWrite({ metadata }: Application, at: number): MemoryChange {
  const { resourceVersion: version } = metadata;
  return { operationWrite: version === undefined ? undefined : { version, at } };
}

/** A wait. One for the same thing goes on: `since` stays, unless its begin is known. */
export function waitOn(
  { waiting }: Pick<AppMemory, 'waiting'>,
  { cause, what, since }: WaitReason & { readonly since?: number | undefined },
  now: number,
  ms: number,
): MemoryChange {
  const begin = since ?? (waiting?.what === what ? waiting.since : now);
  return { waiting: { cause, what, since: begin, until: now + ms } };
}

/** The result of a dry run, and the hash of its inputs. */
export interface KnownDryRun {
  readonly id: string;
  readonly outcome: DryRunOutcome;
}

/** The in-memory state of all applications of this replica. */
export class AppMemories {
  /** Row results of the last comparison of each application. */
  readonly rows: RowStore;
  /** Their resource trees. */
  readonly trees = new TreeStore();
  /** Results of server-side diff, valid while their inputs are unchanged. */
  readonly dryRuns = new Map<AppKey, ReadonlyMap<ResourceKey, KnownDryRun>>();
  /** Remembers which applies would change nothing; absent: this process does not write. */
  readonly gate: ApplyGate | undefined;
  /** The newest passes, syncs and faults of all applications. */
  readonly activity = new ActivityLog();
  /** References to what the last passes read and decided. */
  readonly passLog: PassLog;
  /** Reads of sources in flight. */
  readonly reads = new OwnedReads();
  readonly records = new RecordTurns();
  readonly #byKey = new Map<AppKey, { -readonly [K in keyof AppMemory]: AppMemory[K] }>();

  /** @param maxBytes of the objects that rows keep; passes keep a quarter of that. */
  constructor(gate?: ApplyGate, maxBytes = Infinity) {
    this.gate = gate;
    this.rows = new RowStore(undefined, maxBytes);
    this.passLog = new PassLog({ bytesOf: (key) => this.rows.bytesOf(key), maxBytes: maxBytes / 4 });
  }

  /** The memory of an application, created on first use. */
  of(key: AppKey): AppMemory {
    const known = this.#byKey.get(key) ?? { hold: new StatusHold() };
    this.#byKey.set(key, known);
    return known;
  }

  /** Changes the memory of an application. */
  note(key: AppKey, change: MemoryChange): void {
    const memory: object = this.of(key);
    // Deleting a member makes V8 read the object slowly, so a removed one stays as undefined.
    for (const [name, value] of Object.entries(change))
      if (value !== undefined || Object.hasOwn(memory, name)) Reflect.set(memory, name, value);
  }

  /** The memory of an application if there is one. */
  peek(key: AppKey): AppMemory | undefined {
    return this.#byKey.get(key);
  }

  forget(key: AppKey): void {
    this.#byKey.delete(key);
    this.rows.forget(key);
    this.trees.forget(key);
    this.passLog.forget(key);
    this.dryRuns.delete(key);
    this.gate?.forget(key);
    this.reads.end(key);
    this.records.end(key);
  }
}
