import type { JqAnswers } from './jq-answers.ts';
import type { KindSchema } from './open-api.ts';
import type { KubeObject, ResourceIgnoreDifferences, Settings } from '#model';

/** What all jq programs of one comparison may do together, in steps: many small ones hold up a process as one big one does. Counted down. */
export interface JqWork {
  left: number;
}

/** The rules under which one comparison runs. */
export interface DiffRules {
  readonly settings: Settings;
  /** `spec.ignoreDifferences` of the Application. */
  readonly ignoreDifferences: readonly ResourceIgnoreDifferences[];
  /** One for all objects of a comparison; absent: each program has its own limit only. */
  readonly work?: JqWork;
  /** What jq says, for programs that only jq can run; absent: they are refused. */
  readonly jq?: JqAnswers;
  /** Objects are sent by server-side apply (a sync option of the Application); options of a manifest go before. */
  readonly serverSideApply?: boolean;
  /** What the API server publishes, by `apiVersion Kind`, for objects that are sent by server-side apply. */
  readonly schemas?: ReadonlyMap<string, KindSchema>;
}

/** What is wrong with an ignore rule that applies to an object. Never holds values of objects. */
export interface RuleFault {
  /** Where the rule stands: `spec.ignoreDifferences[0]` of the Application, or `argocd-cm <key>`. */
  readonly where: string;
  /** `jsonPointer "…"` or `jqPathExpression "…"`. */
  readonly rule: string;
  /** What is the matter with it, as the end of a sentence about it. */
  readonly problem: string;
  /** True: nobody can tell what it ignores. False: it does what it does with Argo CD, which is not what it looks like. */
  readonly undecided: boolean;
}

/** The difference of one managed object. */
export interface DiffResult {
  readonly modified: boolean;
  /** Live, after normalization and ignore rules. `null` when there is no live object. */
  readonly normalizedLive: KubeObject | null;
  /** What live would be after applying target, normalized the same way. `null` when there is no target (a prune candidate). */
  readonly predictedLive: KubeObject | null;
  /** JSON pointers of the first differing paths (at most 10), for people. Names only, never values. */
  readonly paths: readonly string[];
  /** Faults of the rules that apply to this object; `modified` leaves such rules out. */
  readonly faults: readonly RuleFault[];
  /** Modified, but one of the rules that were left out might have ignored that: whoever acts on it may overwrite what should be left alone. */
  readonly undecided: boolean;
}
