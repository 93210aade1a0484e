import { compileGlob, isObject, ownMember } from '#base';
import type { Json, JsonObject } from '#base';
import type { ResourceIgnoreDifferences, Settings, UnreadableSetting } from '#model';
import type { RuleFault } from './diff-rules.ts';
import { knownTypeRules } from './known-types.ts';
import { maxGlobLength, withinBudget } from './rule-budget.ts';
import { RuleIndex } from './rule-index.ts';
import type { RuleScope } from './rule-index.ts';
import { readRule } from './rule-parts.ts';
import type { IgnoredNames } from './rule-parts.ts';
import { anywhere } from './rule.ts';
import type { IgnoreRule, KindRef, RuleList } from './rule.ts';

/**
 * Compiled rules, by the settings and by the Application's list. Both are immutable, so entries
 * live exactly as long as they are in use.
 */
const rulesBySettings = new WeakMap<Settings, { readonly diff: RuleList; readonly updates: RuleList }>();
const rulesByList = new WeakMap<readonly ResourceIgnoreDifferences[], RuleList>();

export function rulesOfApp(list: readonly ResourceIgnoreDifferences[]): RuleList {
  let rules = rulesByList.get(list);
  if (rules === undefined) {
    const places = [...list.keys()].filter((i) => unreadableMember(list[i]) === undefined);
    const budgeted = withinBudget(places.flatMap((i) => list[i] ?? []));
    const read = budgeted.list.map((rule, i) => compileAppRule(rule, `spec.ignoreDifferences[${places[i] ?? i}]`));
    rules = { index: new RuleIndex([...read, ...list.flatMap(unreadableAppRule)]), fault: budgeted.fault };
    rulesByList.set(list, rules);
  }
  return rules;
}

/** Faults of the `ignoreResourceUpdates` rules: syntax errors, and rules that select nothing. */
export function updateRuleFaults(settings: Settings): readonly RuleFault[] {
  return Object.entries(settings.overrides).flatMap(([key, { ignoreResourceUpdates }]) =>
    systemRules(key, settings, { ignoreResourceUpdates }).flatMap(({ faults }) => faults),
  );
}

/** Faults of the `ignoreDifferences` rules: syntax errors, and rules that select nothing. */
export function ignoreRuleFaults(settings: Settings): readonly RuleFault[] {
  return Object.entries(settings.overrides).flatMap(([key, { ignoreDifferences }]) =>
    systemRules(key, settings, { ignoreDifferences }).flatMap(({ faults }) => faults),
  );
}

/**
 * Rules that hide updates in Argo CD but not here, because only real jq can run them, and an
 * update does not wait for it. Those of `ignoreDifferences` still apply to comparisons.
 */
export function updateRulesOnlyForJq(settings: Settings): readonly RuleFault[] {
  if (!settings.ignoreResourceUpdatesEnabled) return [];
  return Object.entries(settings.overrides).flatMap(([key, { ignoreResourceUpdates, ignoreDifferences }]) => [
    ...onlyForJq(systemRules(key, settings, { ignoreResourceUpdates }), onlyJqProblem),
    ...(settings.ignoreDifferencesOnResourceUpdates
      ? onlyForJq(
          systemRules(key, settings, { ignoreDifferences }),
          `${onlyJqProblem}. It still applies to comparisons`,
        )
      : []),
  ]);
}

function onlyForJq(rules: readonly IgnoreRule[], problem: string): readonly RuleFault[] {
  const parts = rules.flatMap((rule) => rule.parts);
  return parts.flatMap((part) => ('find' in part && part.program !== undefined ? [part.fault(problem)] : []));
}

const onlyJqProblem = 'needs full jq, which does not run when an object changes: it hides no updates';

export function rulesOfSettings(settings: Settings): { readonly diff: RuleList; readonly updates: RuleList } {
  let rules = rulesBySettings.get(settings);
  if (rules === undefined) {
    const listOf = (list: readonly IgnoreRule[]): RuleList => ({ index: new RuleIndex(list), fault: undefined });
    rules = { diff: listOf(diffRules(settings)), updates: listOf(updateRules(settings)) };
    rulesBySettings.set(settings, rules);
  }
  return rules;
}

function diffRules(settings: Settings): readonly IgnoreRule[] {
  const rules = Object.entries(settings.overrides).flatMap(([key, override]) =>
    systemRules(key, settings, { ignoreDifferences: override.ignoreDifferences }),
  );
  const unreadable = settings.unreadable.flatMap(unreadableRule);
  return [...rules, ...unreadable, ...statusRules(settings), ...knownTypeRules(settings.overrides)];
}

/** Stands for the ignore rules of a key that cannot be read: it ignores nothing, and says so. */
function unreadableRule({ key, problem, kind: customization, isKept }: UnreadableSetting): readonly IgnoreRule[] {
  if (customization === undefined) return [];
  const fault = { where: `argocd-cm ${key}`, rule: 'value', problem: `cannot be read: ${problem}` };
  const kept = isKept ? { isKept: true as const } : {};
  const slash = customization.indexOf('/');
  const matchesKind = kindMatcher(slash < 0 ? '' : customization.slice(0, slash), customization.slice(slash + 1));
  return [{ ...anywhere(matchesKind), parts: [], managers: [], faults: [{ ...fault, undecided: !isKept, ...kept }] }];
}

function updateRules(settings: Settings): readonly IgnoreRule[] {
  const rules = Object.entries(settings.overrides).flatMap(([key, override]) =>
    systemRules(key, settings, {
      ignoreResourceUpdates: override.ignoreResourceUpdates,
      ...(settings.ignoreDifferencesOnResourceUpdates ? { ignoreDifferences: override.ignoreDifferences } : {}),
    }),
  );
  const always = ['/metadata/resourceVersion', '/metadata/generation', '/metadata/managedFields'];
  // The status default belongs to `ignoreDifferences` of `*/*`: it counts for updates when those
  // do.
  const status = settings.ignoreDifferencesOnResourceUpdates ? statusRules(settings) : [];
  return [...rules, ...status, everyKind(always)];
}

function everyKind(pointers: readonly string[]): IgnoreRule {
  return { ...anywhere(() => true), ...readRule({ jsonPointers: pointers }, 'the defaults'), managers: [] };
}

function statusRules({ ignoreResourceStatusField: which }: Settings): readonly IgnoreRule[] {
  if (which === 'none') return [];
  if (which === 'all') return [everyKind(['/status'])];
  const isCrd = ({ group, kind }: KindRef): boolean =>
    group === 'apiextensions.k8s.io' && kind === 'CustomResourceDefinition';
  return [{ ...everyKind(['/status']), matchesKind: isCrd }];
}

/**
 * Rules of `resource.customizations` for a key `group/Kind` or `Kind`, possibly with globs. Trusted
 * managers apply only if the key is `*\/*` or names the kind without a glob. A key without a slash
 * matches a core kind; upstream never matches it.
 */
function systemRules(
  key: string,
  settings: Settings,
  ignores: Readonly<Record<string, IgnoredNames | undefined>>,
): readonly IgnoreRule[] {
  const parts = key.split('/');
  if (parts.length > 2 || key === '') return [];
  const [group, kind] = parts.length === 2 ? [parts[0] ?? '', parts[1] ?? ''] : ['', parts[0] ?? ''];
  const matches = kindMatcher(group, kind);
  const exactly = (ref: KindRef): boolean => key === '*/*' || (ref.group === group && ref.kind === kind);
  return Object.entries(ignores).flatMap(([field, ignore]) =>
    ignore === undefined
      ? []
      : [
          { ...anywhere(matches), ...readRule(ignore, settingOf(settings, field, key)), managers: [] },
          { ...anywhere(exactly), parts: [], managers: ignore.managedFieldsManagers ?? [], faults: [] },
        ],
  );
}

/** The key of argocd-cm that a customization came from: `….<group_kind>`, or `….all`. */
function settingOf({ raw }: Settings, field: string, key: string): string {
  const keys = [key.replace('/', '_'), ...(key === '*/*' ? ['all'] : [])].map(
    (name) => `resource.customizations.${field}.${name}`,
  );
  const found = keys.find((name) => Object.hasOwn(raw, name)) ?? `resource.customizations (${key}, ${field})`;
  return `argocd-cm ${found}`;
}

function compileAppRule(rule: ResourceIgnoreDifferences, where: string): IgnoreRule {
  const { group = '', kind, name = '', namespace = '' } = rule;
  const managers = rule.managedFieldsManagers ?? [];
  return { matchesKind: kindMatcher(group, kind), name, namespace, ...readRule(rule, where), managers };
}

/** The scope may be what cannot be read, so such a rule counts for every resource. */
function unreadableAppRule(rule: ResourceIgnoreDifferences, i: number): readonly IgnoreRule[] {
  const problem = unreadableMember(rule);
  if (problem === undefined) return [];
  const where = `spec.ignoreDifferences[${i}]`;
  const faults = [{ where, rule: 'value', problem: `cannot be read: ${problem}`, undecided: true }];
  return [{ ...anywhere(() => true), parts: [], managers: [], faults }];
}

/** Faults that the schema of Applications excludes; a server without it accepts them. */
export function unreadableMember(rule: unknown): string | undefined {
  const members = rule as JsonObject | undefined;
  if (!isObject(members)) return 'it is not an object';
  const text = ['group', 'kind', 'name', 'namespace'].find((member) => !isTextOrAbsent(ownMember(members, member)));
  if (text !== undefined) return `${text} is not a text`;
  const list = ['jsonPointers', 'jqPathExpressions', 'managedFieldsManagers'].find((member) => {
    const value = ownMember(members, member) ?? [];
    return !Array.isArray(value) || !value.every((item) => typeof item === 'string');
  });
  if (list !== undefined) return `${list} is not a list of texts`;
  const patterns = ['group', 'kind'].flatMap((member) => stringOf(ownMember(members, member)));
  // Longer ones exceed the budget.
  return patterns.every((pattern) => pattern.length > maxGlobLength || matcherOf(pattern) !== undefined)
    ? undefined
    : 'group or kind is no glob';
}

function stringOf(value: Json | undefined): readonly string[] {
  return typeof value === 'string' ? [value] : [];
}

function isTextOrAbsent(value: Json | undefined): boolean {
  return value === undefined || value === null || typeof value === 'string';
}

/** Matches group and kind, which may be globs. */
export function kindMatcher(group: string, kind: string): RuleScope['matchesKind'] {
  const [groups, kinds] = [matcherOf(group), matcherOf(kind)];
  return (ref) => groups?.(ref.group) === true && kinds?.(ref.kind) === true;
}

function matcherOf(pattern: string): ((text: string) => boolean) | undefined {
  return /[*?[{\\]/.test(pattern) ? compileGlob(pattern) : (text) => text === pattern;
}
