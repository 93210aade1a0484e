import type { ResourceIgnoreDifferences, Settings } from '#model';
import type { KindSchema } from '../field-ownership/open-api.ts';
import type { JqAnswers } from '../jq/answers.ts';
import type { JqWork } from '../jq/work.ts';

/** The rules of one comparison. */
export interface DiffRules {
  readonly settings: Settings;
  /** The Application's `spec.ignoreDifferences`. */
  readonly ignoreDifferences: readonly ResourceIgnoreDifferences[];
  /** Shared by all objects of a comparison. Absent: each program has only its own limit. */
  readonly work?: JqWork;
  /** Answers for programs that need real jq. Absent: such programs are faults. */
  readonly jq?: JqAnswers;
  /** The Application's ServerSideApply sync option; options of a manifest override it. */
  readonly serverSideApply?: boolean;
  /** The Application's Replace sync option; manifests can set it too. */
  readonly replace?: boolean;
  /**
   * The manager whose client-side fields a server-side apply takes over first. Absent: none
   * (`ClientSideApplyMigration=false`).
   */
  readonly adoptFrom?: string;
  /** The manager under which a sync applies. Absent: that of the controller. */
  readonly fieldManager?: string;
  /**
   * Schemas that the API server publishes, by `apiVersion Kind`, for objects sent by server-side
   * apply.
   */
  readonly schemas?: ReadonlyMap<string, KindSchema>;
}

/** A fault of an ignore rule that applies to an object. Never contains values of objects. */
export interface RuleFault {
  /** Source of the rule: `spec.ignoreDifferences[0]` of the Application, or `argocd-cm <key>`. */
  readonly where: string;
  /** `jsonPointer "…"` or `jqPathExpression "…"`. */
  readonly rule: string;
  /** The problem, phrased as the end of a sentence about the rule. */
  readonly problem: string;
  /**
   * True: what the rule ignores is unknown. False: it has the same effect as in Argo CD, which is
   * not the apparent one, or its last readable value is in force.
   */
  readonly undecided: boolean;
  /** The rule cannot be read, and its last readable value stays in force. */
  readonly isKept?: true;
}
