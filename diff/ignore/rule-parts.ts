import { isObject, ownMember, parsePointer } from '#base';
import type { Json } from '#base';
import type { ResourceIgnoreDifferences } from '#model';
import { compileExpression, tooMuchWorkTogether } from '../jq/compile.ts';
import type { PathFinder } from '../jq/compile.ts';
import { DiffRulesError } from '../shared/errors.ts';
import { findPath } from '../shared/removal.ts';
import { isList } from '../shared/values.ts';
import type { RuleFault } from './diff-rules.ts';
import { isMergeable } from './pointer-trie.ts';
import type { PointerTrie } from './pointer-trie.ts';

/** A rule that is evaluated on the object as earlier rules have left it. */
export interface PathRule {
  readonly find: PathFinder;
  readonly fault: (problem: string) => RuleFault;
  readonly program?: string;
}

/**
 * A part of a rule: ignored paths (evaluated, a mergeable pointer, or merged pointers), or a
 * rewrite to the canonical form of a known type.
 */
export type RulePart =
  | PathRule
  | { readonly steps: readonly string[] }
  | { readonly trie: PointerTrie }
  | { readonly rewrite: (value: Json) => Json };

/** The ignore lists of a rule, without its scope. */
export type IgnoredNames = Omit<ResourceIgnoreDifferences, 'kind'>;

/** A compiled rule: its parts and its faults. */
export interface RuleParts {
  readonly parts: readonly RulePart[];
  readonly faults: readonly RuleFault[];
}

/** Compiles a rule. `where` names its source in faults. */
export function readRule(rule: IgnoredNames, where: string): RuleParts {
  const faults: RuleFault[] = [];
  const parts: RulePart[] = [];
  for (const text of rule.jsonPointers ?? []) {
    const faultWith = faultMaker(where, 'jsonPointer', text);
    const steps = pointerSteps(text);
    if (!text.startsWith('/')) faults.push({ ...faultWith(pointerProblem(steps)), undecided: false });
    if (steps.length > 0) parts.push(isMergeable(steps) ? { steps } : { find: pointerFinder(steps), fault: faultWith });
  }
  for (const text of rule.jqPathExpressions ?? []) {
    const faultWith = faultMaker(where, 'jqPathExpression', text);
    try {
      const { find, warning, isForJq } = compileExpression(text);
      if (warning !== undefined) faults.push({ ...faultWith(warning), undecided: false });
      parts.push({ find, fault: faultWith, ...(isForJq === undefined ? {} : { program: text }) });
    } catch (error) {
      if (!(error instanceof DiffRulesError)) throw error;
      faults.push(faultWith(error.problem));
    }
  }
  return { parts, faults };
}

/**
 * Finds the target of a pointer that may lead into lists. Charges the cost of copying for its
 * removal.
 */
function pointerFinder(steps: readonly string[]): PathFinder {
  const find: PathFinder = (value, work) => {
    const path = findPath(value, steps);
    if (work !== undefined) {
      work.left -= path === undefined ? steps.length : copiedFor(value, steps);
      if (work.left < 0) throw new DiffRulesError(tooMuchWorkTogether);
    }
    return path === undefined ? [] : [path];
  };
  return Object.assign(find, { isPointer: true as const });
}

/** The approximate number of values that are copied to remove the value at `steps`. */
function copiedFor(value: Json, steps: readonly string[]): number {
  let [here, count]: [Json | undefined, number] = [value, steps.length];
  for (const step of steps) {
    if (isList(here)) count += here.length;
    else if (isObject(here)) count += Object.keys(here).length;
    here = isList(here) ? here.at(Number(step)) : isObject(here) ? ownMember(here, step) : undefined;
  }
  return count;
}

const maxShownLength = 120;

/** Creates faults of a rule. They never contain values of objects. */
function faultMaker(where: string, form: string, text: string): (problem: string) => RuleFault {
  const shown = text.length <= maxShownLength ? text : `${text.slice(0, maxShownLength - 3)}...`;
  return (problem) => ({ where, rule: `${form} "${shown}"`, problem, undecided: true });
}

/**
 * Parses a pointer as Argo CD's library does: it skips everything before the first slash. Without a
 * slash the pointer selects nothing.
 */
function pointerSteps(pointer: string): readonly string[] {
  const slash = pointer.indexOf('/');
  return slash < 0 ? [] : (parsePointer(pointer.slice(slash)) ?? []);
}

function pointerProblem(steps: readonly string[]): string {
  return steps.length === 0
    ? 'names nothing, because it does not start with "/"'
    : 'does not start with "/", so its first step is left out';
}
