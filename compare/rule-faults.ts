import type { RuleFault } from '#diff';
import { gvkOf } from '#model';
import type { ApplicationCondition, KubeObject } from '#model';
import type { ManagedPair } from './comparison.ts';

/**
 * One condition for each ignore rule that applies to resources here and has a fault, however many they are; none for rules that apply to
 * none. They name rules and kinds, never values. Argo CD: a jq program that cannot be parsed fails every comparison; one that fails when it
 * runs, and a pointer that is none, are passed over in silence.
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

/** What a sync says about a resource that it leaves alone. */
export function heldBack(pair: ManagedPair): string | undefined {
  const fault = pair.diff.undecided ? pair.diff.faults.find(({ undecided }) => undecided) : undefined;
  return fault === undefined
    ? undefined
    : `not applied, because it may overwrite what should be ignored: ${sentence(fault)}. Mend or remove the rule`;
}

function sentence({ where, rule, problem }: RuleFault): string {
  return `The ${rule} in ${where} ${problem}`;
}

function advice({ undecided }: RuleFault): string {
  return undecided
    ? 'Where such a resource differs it is Unknown and not synced: mend or remove the rule'
    : 'The rule has the effect that it has with Argo CD: mend or remove it';
}

function kindOf(object: KubeObject | null): string {
  if (object === null) return '';
  const { group, kind } = gvkOf(object);
  return group === '' ? kind : `${group}/${kind}`;
}
