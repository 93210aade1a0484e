import type { ResourceRef } from '#model';
import type { RuleFault } from './diff-rules.ts';
import type { RuleIndex, RuleScope } from './rule-index.ts';
import type { RulePart } from './rule-parts.ts';

/** A compiled ignore rule of one source. */
export interface IgnoreRule extends RuleScope {
  readonly parts: readonly RulePart[];
  readonly managers: readonly string[];
  /** Faults found when the rule was compiled. */
  readonly faults: readonly RuleFault[];
}

/** All rules of one origin. */
export interface RuleList {
  readonly index: RuleIndex<IgnoreRule>;
  /** Set when some rules exceed the budget. */
  readonly fault: RuleFault | undefined;
}

export type KindRef = Pick<ResourceRef, 'group' | 'kind'>;

/** The scope of a rule for kinds, with any name and namespace. */
export function anywhere(matchesKind: RuleScope['matchesKind']): RuleScope {
  return { matchesKind, name: '', namespace: '' };
}
