import type { Json, JsonObject } from '#base';
import { refOf } from '#model';
import type { KubeObject, ResourceRef, Settings } from '#model';
import { pathsOfAnswer } from '../jq/answer-paths.ts';
import type { JqAnswers } from '../jq/answers.ts';
import { tooMuchWorkTogether } from '../jq/compile.ts';
import type { PathFinder } from '../jq/compile.ts';
import type { JqWork } from '../jq/work.ts';
import { DiffRulesError } from '../shared/errors.ts';
import { markPaths, removeMarked, removePaths } from '../shared/removal.ts';
import type { RemovalMarks } from '../shared/removal.ts';
import { annotatedRule } from './annotated-rules.ts';
import type { DiffRules, RuleFault } from './diff-rules.ts';
import { addPointer, emptyTrie, markPointers, removePointers } from './pointer-trie.ts';
import type { PointerTrie } from './pointer-trie.ts';
import { RuleIndex } from './rule-index.ts';
import type { PathRule, RulePart } from './rule-parts.ts';
import type { IgnoreRule, RuleList } from './rule.ts';
import { rulesOfApp, rulesOfSettings } from './rules.ts';

/** The ignored fields of one object. */
export interface IgnoredFields {
  /**
   * Removes what the rules select; returns the same reference when that is nothing. A rule that
   * cannot be run is skipped from then on.
   */
  readonly remove: (object: JsonObject) => JsonObject;
  /** Marks what {@link remove} would remove. Values that are already marked count as removed. */
  readonly mark: (object: JsonObject, marks: RemovalMarks) => void;
  readonly managers: ReadonlySet<string>;
  /** Faults of these rules found so far. Running a rule may add one. */
  readonly faults: () => readonly RuleFault[];
  /**
   * Identifies the rules, and the settings that they are part of, if {@link remove} depends on
   * nothing but them and the object.
   */
  readonly pureRules: object | undefined;
}

/** Repeats `work` until it adds no fault: a rule that fails on one side must be skipped on both. */
export function repeatUntilNoNewFault<T>(ignored: IgnoredFields, work: () => T): T {
  for (;;) {
    const before = ignored.faults().length;
    const result = work();
    if (ignored.faults().length === before) return result;
  }
}

/** The merged rules for all objects to which the same rules apply. */
interface RulePlan {
  readonly parts: readonly RulePart[];
  readonly managers: ReadonlySet<string>;
  readonly faults: readonly RuleFault[];
}

/** Plans for each pair of rule lists, by the {@link RuleIndex.keyOf} of both. */
const rulePlans = new WeakMap<RuleList, WeakMap<RuleList, Map<string, RulePlan>>>();
/** Cached plans for one pair of rule lists. */
const maxCachedPlans = 100;

function planFor(ref: ResourceRef, first: RuleList, second: RuleList, work?: JqWork): RulePlan {
  const ofFirst = rulePlans.get(first) ?? new WeakMap<RuleList, Map<string, RulePlan>>();
  rulePlans.set(first, ofFirst);
  const known = ofFirst.get(second) ?? new Map<string, RulePlan>();
  ofFirst.set(second, known);
  const key = `${first.index.keyOf(ref)} ${second.index.keyOf(ref)}`;
  const found = known.get(key);
  if (found !== undefined) return found;
  const rules = [...first.index.rulesFor(ref), ...second.index.rulesFor(ref)];
  const parts = mergePointers(rules.flatMap((rule) => rule.parts));
  if (work !== undefined) work.left -= rules.reduce((sum, rule) => sum + rule.parts.length, rules.length);
  const plan = {
    parts,
    managers: new Set(rules.flatMap((rule) => rule.managers)),
    faults: [...(first.fault === undefined ? [] : [first.fault]), ...rules.flatMap((rule) => rule.faults)],
  };
  if (known.size >= maxCachedPlans) known.clear();
  known.set(key, plan);
  return plan;
}

/** Merges adjacent pointers into one trie, each pointer once. */
function mergePointers(parts: readonly RulePart[]): readonly RulePart[] {
  const result: RulePart[] = [];
  let trie: PointerTrie | undefined;
  for (const part of parts) {
    if ('steps' in part) {
      if (trie === undefined) {
        trie = emptyTrie();
        result.push({ trie });
      }
      addPointer(trie, part.steps);
      continue;
    }
    // Removing a list item moves no member of a map, so later pointers without indices can still
    // join the trie.
    if (!('find' in part) || part.program !== undefined || part.find.isPointer !== true) trie = undefined;
    result.push(part);
  }
  return result;
}

function ignoredBy({ parts, managers, faults: known }: RulePlan, { work, jq }: RuleInputs = {}): IgnoredFields {
  const faults = new Map(known.map((fault) => [`${fault.where} ${fault.rule}`, fault]));
  const broken = new Set<RulePart>();
  let isSpent = false;
  const allowance = { left: maxObjectSteps };
  const found = (part: PathRule, value: Json): ReturnType<PathFinder> => {
    // When the shared budget is spent, all further rules are skipped; one fault reports that.
    if (broken.has(part) || isSpent) return [];
    try {
      if (part.program !== undefined && jq !== undefined) return pathsByJq(part.program, value, jq);
      return withinAllowance(work, allowance, (given) => part.find(value, given));
    } catch (error) {
      if (!(error instanceof DiffRulesError)) throw error;
      broken.add(part);
      isSpent ||= error.problem === tooMuchWorkTogether;
      const fault = part.fault(error.problem);
      faults.set(`${fault.where} ${fault.rule}`, fault);
      return [];
    }
  };
  const without = (value: Json, part: RulePart): Json => {
    if ('rewrite' in part) return part.rewrite(value);
    if ('trie' in part) return removePointers(value, part.trie);
    const paths = 'find' in part ? found(part, value) : [];
    return paths.length === 0 ? value : removePaths(value, paths);
  };
  return {
    remove: (object) => parts.reduce<Json>(without, object) as JsonObject,
    mark: (object, marks) => {
      for (const part of parts) {
        if ('trie' in part) markPointers(object, part.trie, marks);
        else if ('find' in part) markPaths(marks, found(part, removeMarked(object, marks)));
      }
    },
    managers,
    faults: () => [...faults.values()],
    pureRules: parts.every((part) => 'trie' in part || 'rewrite' in part) ? parts : undefined,
  };
}

/**
 * Limit of all rules on one object, in jq steps: a few hundredths of a second that block the event
 * loop.
 */
const maxObjectSteps = 1_000_000;

/** Runs a rule within the remaining steps of the object and of the whole comparison. */
function withinAllowance<T>(all: JqWork | undefined, mine: JqWork, run: (work: JqWork) => T): T {
  const before = Math.min(mine.left, all?.left ?? mine.left);
  const given = { left: before };
  try {
    return run(given);
  } finally {
    mine.left -= before - given.left;
    if (all !== undefined) all.left -= before - given.left;
  }
}

/** The inputs of jq programs, besides the object. */
interface RuleInputs {
  readonly work?: JqWork | undefined;
  readonly jq?: JqAnswers | undefined;
}

/**
 * @throws DiffRulesError when jq gave no answer or has not run yet. In the latter case the
 * comparison is repeated with its answer.
 */
function pathsByJq(program: string, value: Json, jq: JqAnswers): ReturnType<PathFinder> {
  const answer = jq.answerTo(program, value);
  if (answer === undefined) throw new DiffRulesError('has not been run yet');
  if ('problem' in answer) throw new DiffRulesError(answer.problem);
  const found = answer.paths.map((path) => pathsOfAnswer(path, value));
  // If one path cannot be deleted, jq's `del` fails as a whole.
  return found.some((paths) => paths === undefined) ? [] : found.flatMap((paths) => paths ?? []);
}

/**
 * The ignore rules for one object of a comparison: the Application's, the system's (Argo CD:
 * util/argo/normalizers), and those of its manifest.
 */
export function ignoredInDiff(target: KubeObject, { settings, ignoreDifferences, work, jq }: DiffRules): IgnoredFields {
  const plan = planFor(refOf(target), rulesOfApp(ignoreDifferences), rulesOfSettings(settings).diff, work);
  const own = annotatedRule(target);
  if (own.parts.length + own.faults.length === 0) return ignoredBy(plan, { work, jq });
  if (work !== undefined) work.left -= own.parts.length;
  const parts = [...plan.parts, ...mergePointers(own.parts)];
  return ignoredBy({ ...plan, parts, faults: [...plan.faults, ...own.faults] }, { work, jq });
}

/** The same for a live object without a manifest. */
export function ignoredInLive(live: KubeObject, { settings, ignoreDifferences, work, jq }: DiffRules): IgnoredFields {
  const plan = planFor(refOf(live), rulesOfApp(ignoreDifferences), rulesOfSettings(settings).diff, work);
  return ignoredBy(plan, { work, jq });
}

/**
 * The rules for the fingerprint of updates (Argo CD: settings GetIgnoreResourceUpdatesOverrides).
 */
export function ignoredInUpdates(ref: ResourceRef, settings: Settings): IgnoredFields {
  return ignoredBy(planFor(ref, noRules, rulesOfSettings(settings).updates));
}

const noRules: RuleList = { index: new RuleIndex<IgnoreRule>([]), fault: undefined };
