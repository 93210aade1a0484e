import type { RuleFault } from '#diff';
import { gvkOf } from '#model';
import type { ApplicationCondition, KubeObject } from '#model';
import type { ManagedPair } from './types.ts';

/**
 * One condition for each faulty ignore rule that applies to resources here; none for rules that
 * apply to no resource. They name rules and kinds, never values. Argo CD: an invalid jq program
 * fails every comparison; one that fails at run time, and an invalid pointer, are silently skipped.
 */
export function faultConditions(pairs: readonly ManagedPair[]): readonly ApplicationCondition[] {
  const kinds = new Map<string, { readonly fault: RuleFault; readonly kinds: Set<string> }>();
  for (const pair of pairs)
    for (const fault of pair.diff.faults) {
      const key = `${fault.where} ${fault.rule}`;
      const entry = kinds.get(key) ?? { fault, kinds: new Set() };
      kinds.set(key, entry);
      entry.kinds.add(kindOf(pair.live ?? pair.target));
    }
  return [...kinds.values()].map(({ fault, kinds: found }) => ({
    type: 'IgnoreRuleWarning',
    message: `${sentence(fault)} (for ${[...found].sort().join(', ')}). ${advice(fault)}`,
  }));
}

/** Sync result message of a resource that is not applied because of a faulty ignore rule. */
export function reasonNotApplied(pair: ManagedPair): string | undefined {
  const fault = pair.diff.undecided ? pair.diff.faults.find(({ undecided }) => undecided) : undefined;
  return fault === undefined
    ? undefined
    : `not applied, because it may overwrite what should be ignored: ${sentence(fault)}. Fix or remove the rule`;
}

function sentence({ where, rule, problem }: RuleFault): string {
  return `The ${rule} in ${where} ${problem}`;
}

function advice({ undecided, isKept }: RuleFault): string {
  if (isKept === true) return 'Its last readable value stays in force: fix the key';
  return undecided
    ? 'If such a resource differs, it is Unknown and not synced: fix or remove the rule'
    : 'The rule has the same effect as in Argo CD: fix or remove it';
}

function kindOf(object: KubeObject | null): string {
  if (object === null) return '';
  const { group, kind } = gvkOf(object);
  return group === '' ? kind : `${group}/${kind}`;
}
