import type { DiffRules } from '#diff';
import type { HealthStatus, KubeObject, ObjectName } from '#model';
import type { ClusterWriter, SyncOptions, SyncOutcome } from '#sync';

export interface SyncWriter extends ClusterWriter {
  /** Every write is a dry run: the sync is then one, too. A real writer must not set it. */
  readonly dryRun?: boolean;
}

export interface SyncInputs {
  /** The desired objects, hooks included. */
  readonly targets: readonly KubeObject[];
  /** Objects of earlier syncs. With the option `prune`, those without a target are deleted. */
  readonly known?: readonly ObjectName[];
  /** Reads and changes the cluster. */
  readonly writer: SyncWriter;
  /** Namespace of namespaced objects that name none. Default: "default". */
  readonly namespace?: string;
  /** Default: all off, but `validate`. */
  readonly options?: Partial<Omit<SyncOptions, 'dryRun'>>;
  /** Rules of comparing, from `diffRules` of driftless/diff. */
  readonly diff?: DiffRules;
  /** Default: `healthOf` of driftless/health. */
  readonly health?: (object: KubeObject) => HealthStatus | null;
  /** Revision of the targets; part of the names of hooks with `generateName`. */
  readonly revision?: string;
  /** After this time, running hooks are deleted and the sync fails. Default: 10 minutes. */
  readonly deadlineMs?: number;
  /** Receives the state after each step. */
  readonly onStep?: (outcome: SyncOutcome) => void;
  /** Receives problems that do not change the outcome. Default: a warning of the process. */
  readonly onWarning?: (message: string) => void;
  /** Ends the sync after the request in flight: what was applied stays. */
  readonly signal?: AbortSignal;
}
