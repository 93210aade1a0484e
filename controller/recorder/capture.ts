import type { CompareFacts, Comparison, TreeRoot, TreeRows } from '#compare';
import type { ApiDiscovery } from '#kube';
import type {
  AppKey,
  Application,
  ApplicationCondition,
  KubeObject,
  OperationState,
  ResourceKey,
  RevisionHistory,
} from '#model';
import type { JsonObject } from '#base';
import type { ClusterWriter } from '#sync';
import type { PolicyFacts } from '../admission/policy-facts.ts';
import type { AutosyncDecision } from '../application/autosync.ts';
import type { DueRefresh, FreshnessFacts, RefreshRequest } from '../application/freshness.ts';
import type { PassStart } from '../application/operation-state.ts';
import type { ContestMemory } from '../comparison/contest.ts';
import type { RenderedSources } from '../comparison/rendering.ts';

/** Inputs of one comparison. References only: nothing is copied. */
export interface ComparisonCapture {
  rendered?: RenderedSources;
  facts?: CompareFacts;
  /** The error of a source, and whether the last comparison was kept instead. */
  /** `outage`: the last good rendering was compared instead. */
  sourceError?: { readonly message: string; readonly isTolerated: boolean; readonly outage?: string };
}

/** An error that ended a pass. */
export interface CapturedError {
  readonly code: string;
  readonly message: string;
}

/** The inputs of the decision whether to refresh. */
export interface DueCapture {
  readonly app: Application;
  readonly request: RefreshRequest | undefined;
  readonly facts: FreshnessFacts;
}

/** Memory of earlier passes, as it was when the pass began. */
export interface RememberedFacts {
  readonly driftSeenAt: number | undefined;
  readonly sourceFailedAt: number | undefined;
  readonly contests: ContestMemory | undefined;
  readonly roots: readonly TreeRoot[] | undefined;
}

/** Claims of other Applications on objects to be pruned. */
export type CapturedClaims = ReadonlyMap<ResourceKey, AppKey>;

/** Captures a step, or answers it from a recording. */
export interface StepTap {
  readonly comparison: ComparisonCapture;
  readonly claimed: (claims: CapturedClaims) => void;
  readonly writer: (writer: ClusterWriter) => ClusterWriter;
}

/** The decisions of a refresh. */
export interface RefreshDecisions {
  readonly patch: JsonObject | undefined;
  readonly conditions: readonly ApplicationCondition[];
  /** Undefined: nothing was compared. */
  readonly decisions:
    | {
        readonly comparison: Comparison;
        readonly decision: AutosyncDecision | undefined;
        readonly finalizers: readonly string[] | undefined;
      }
    | undefined;
}

/** One refresh pass. Its members are set as the pass reads and decides. */
export interface RefreshCapture {
  readonly kind: 'refresh';
  readonly key: AppKey;
  readonly now: number;
  /** By the monotonic clock. */
  readonly startedAt: number;
  readonly refresh: DueRefresh;
  readonly before: Application;
  readonly memory: RememberedFacts;
  readonly comparison: ComparisonCapture;
  isAsked: boolean;
  due?: DueCapture | undefined;
  policy?: PolicyFacts;
  tree?: TreeRows;
  claims?: CapturedClaims;
  decided?: RefreshDecisions;
  error?: CapturedError;
}

/** A call of a sync to its cluster. */
export interface CapturedCall {
  readonly method: 'get' | 'apply' | 'create' | 'delete' | 'patchMetadata';
  readonly key: ResourceKey;
  /** Options of the call that a decision made. */
  readonly how: JsonObject;
  /** The object sent, for an apply or create. */
  readonly sent?: KubeObject;
  answer?: CallAnswer;
}

export type CallAnswer =
  | { readonly object: KubeObject | null }
  | { readonly object: KubeObject; readonly message: string }
  | { readonly deletion: 'accepted' | 'changed' }
  | { readonly error: CapturedError & { readonly status?: number; readonly reason?: string } };

/** One step of an operation. */
export interface OperationCapture {
  readonly kind: 'operation';
  readonly key: AppKey;
  readonly now: number;
  readonly startedAt: number;
  readonly app: Application;
  readonly start: PassStart;
  readonly wave: { readonly name: string; readonly at: number } | undefined;
  readonly comparison: ComparisonCapture;
  readonly calls: CapturedCall[];
  policy?: PolicyFacts;
  discovery?: ApiDiscovery;
  claims?: CapturedClaims;
  /** The Application that the step ran with: its state may have been written first. */
  begun?: Application;
  endedAt?: number;
  next?: OperationState;
  history?: readonly RevisionHistory[] | undefined;
  error?: CapturedError;
}

export type PassCapture = RefreshCapture | OperationCapture;

/** Objects that a captured pass keeps alive. */
export function capturedObjects({ comparison }: PassCapture): number {
  return (comparison.facts?.live.objects.size ?? 0) + (comparison.rendered?.objects.length ?? 0);
}
