import { compileGlob, isObject, own, parsePointer, setOwn } from '#base';
import type { Json, JsonObject, MutableJson, MutableJsonObject } from '#base';
import type { ResourceIgnoreDifferences, ResourceOverride, ResourceRef, Settings } from '#model';
import { canonicalise } from './canonical.ts';
import { DiffRulesError } from './errors.ts';
import type { JqAnswers } from './jq-answers.ts';
import { placeOf } from './jq-places.ts';
import { compileExpression, tooMuchTogether } from './jq.ts';
import type { Finder } from './jq.ts';
import { markAll, pathOf, prune, removeAll } from './remove.ts';
import type { Marks } from './remove.ts';
import { namedSchema } from './schema.ts';
import type { TypeSchema } from './schema.ts';
import type { DiffRules, JqWork, RuleFault } from './types.ts';
import { isList } from './values.ts';

/** A part of a rule: places that are ignored, or a value that is written in another way before it is compared. */
type Part =
  | {
      readonly find: Finder;
      readonly fault: (problem: string) => RuleFault;
      readonly jq?: true;
      readonly program?: string;
    }
  | { readonly rewrite: (value: Json) => Json };

/** One source of ignore rules, ready to run. */
interface Rule {
  readonly matches: (ref: ResourceRef) => boolean;
  readonly parts: readonly Part[];
  readonly managers: readonly string[];
  /** What was found wrong with it when it was read. */
  readonly faults: readonly RuleFault[];
}

/** What is ignored of one object. */
export interface Ignored {
  /** Takes out what the rules name; the same reference when there is nothing. A rule that cannot be run is left out from then on. */
  readonly strip: (object: JsonObject) => JsonObject;
  /** Marks in an object, in which some places may be marked already, what {@link strip} would take out. */
  readonly mark: (object: JsonObject, marks: Marks) => void;
  readonly managers: ReadonlySet<string>;
  /** What is wrong with these rules, as far as they have been used until now. */
  readonly faults: () => readonly RuleFault[];
}

/** Works again for as long as a rule turns out not to work: none may have been in force for one side only. */
export function untilSettled<T>(ignored: Ignored, work: () => T): T {
  for (;;) {
    const before = ignored.faults().length;
    const result = work();
    if (ignored.faults().length === before) return result;
  }
}

/**
 * Compiled rules by the settings, and by the list of the application, that they come from. Both are immutable values that live as long as
 * they are in use, so entries go with them.
 */
const bySettings = new WeakMap<Settings, { readonly diff: readonly Rule[]; readonly updates: readonly Rule[] }>();
const byList = new WeakMap<readonly ResourceIgnoreDifferences[], readonly Rule[]>();

/** The ignore rules of a comparison for one object: the application's and the system's (Argo CD: util/argo/normalizers). */
export function ignoredInDiff(ref: ResourceRef, { settings, ignoreDifferences: list, work, jq }: DiffRules): Ignored {
  let own_ = byList.get(list);
  if (own_ === undefined) {
    own_ = list.map((rule, i) => compileAppRule(rule, `spec.ignoreDifferences[${i}]`));
    byList.set(list, own_);
  }
  return combine([...own_, ...compiled(settings).diff], ref, { work, jq });
}

/** The rules for the fingerprint of updates (Argo CD: settings GetIgnoreResourceUpdatesOverrides). */
export function ignoredInUpdates(ref: ResourceRef, settings: Settings): Ignored {
  return combine(compiled(settings).updates, ref);
}

/** What is wrong with the rules of `ignoreResourceUpdates`: what is no rule, or names nothing. */
export function faultsOfUpdates(settings: Settings): readonly RuleFault[] {
  return Object.entries(settings.overrides).flatMap(([key, { ignoreResourceUpdates }]) =>
    systemRules(key, settings, { ignoreResourceUpdates }).flatMap(({ faults }) => faults),
  );
}

/**
 * Rules that hide changes of objects in Argo CD and none here, because only jq can run them: an object that changes is not kept waiting for jq.
 * Those of `ignoreDifferences` are in force where objects are compared.
 */
export function unhiddenUpdates(settings: Settings): readonly RuleFault[] {
  if (!settings.ignoreResourceUpdatesEnabled) return [];
  return Object.entries(settings.overrides).flatMap(([key, { ignoreResourceUpdates, ignoreDifferences }]) => [
    ...onlyForJq(systemRules(key, settings, { ignoreResourceUpdates }), onlyByJq),
    ...(settings.ignoreDifferencesOnResourceUpdates
      ? onlyForJq(systemRules(key, settings, { ignoreDifferences }), `${onlyByJq}. In comparisons it is in force`)
      : []),
  ]);
}

function onlyForJq(rules: readonly Rule[], problem: string): readonly RuleFault[] {
  const parts = rules.flatMap((rule) => rule.parts);
  return parts.flatMap((part) => ('find' in part && part.program !== undefined ? [part.fault(problem)] : []));
}

const onlyByJq = 'can only be run by jq, which is not asked when an object changes: it hides no change';

function combine(rules: readonly Rule[], ref: ResourceRef, { work, jq }: Evaluation = {}): Ignored {
  const matching = rules.filter((rule) => rule.matches(ref));
  const parts = matching.flatMap((rule) => rule.parts);
  const faults = new Map(
    matching.flatMap((rule) => rule.faults).map((fault) => [`${fault.where} ${fault.rule}`, fault]),
  );
  const broken = new Set<Part>();
  const spent = { told: false };
  const found = (part: Extract<Part, { find: Finder }>, value: Json): ReturnType<Finder> => {
    if (broken.has(part)) return [];
    // One fault is enough for all programs that are not run any more.
    if (part.jq === true && spent.told) return [];
    try {
      return part.program === undefined || jq === undefined
        ? part.find(value, work)
        : placesByJq(part.program, value, jq);
    } catch (error) {
      if (!(error instanceof DiffRulesError)) throw error;
      broken.add(part);
      spent.told ||= error.problem === tooMuchTogether;
      const told = part.fault(error.problem);
      faults.set(`${told.where} ${told.rule}`, told);
      return [];
    }
  };
  const without = (value: Json, part: Part): Json => {
    if ('rewrite' in part) return part.rewrite(value);
    const paths = found(part, value);
    return paths.length === 0 ? value : removeAll(value, paths);
  };
  return {
    strip: (object) => parts.reduce<Json>(without, object) as JsonObject,
    mark: (object, marks) => {
      for (const part of parts) if ('find' in part) markAll(marks, found(part, prune(object, marks)));
    },
    managers: new Set(matching.flatMap((rule) => rule.managers)),
    faults: () => [...faults.values()],
  };
}

/** What programs are run with. */
interface Evaluation {
  readonly work?: JqWork | undefined;
  readonly jq?: JqAnswers | undefined;
}

/** @throws DiffRulesError when jq cannot tell, or has not been asked yet: the comparison is made again then. */
function placesByJq(program: string, value: Json, jq: JqAnswers): ReturnType<Finder> {
  const answer = jq.of(program, value);
  if (answer === undefined) throw new DiffRulesError('has not been run yet');
  if ('problem' in answer) throw new DiffRulesError(answer.problem);
  const places = answer.paths.map((path) => placeOf(path, value));
  // Without a place that can go, jq's `del` fails as a whole.
  return places.some((place) => place === undefined) ? [] : places.flatMap((place) => place ?? []);
}

function compiled(settings: Settings): { readonly diff: readonly Rule[]; readonly updates: readonly Rule[] } {
  let rules = bySettings.get(settings);
  if (rules === undefined) {
    rules = { diff: diffRules(settings), updates: updateRules(settings) };
    bySettings.set(settings, rules);
  }
  return rules;
}

function diffRules(settings: Settings): readonly Rule[] {
  const rules = Object.entries(settings.overrides).flatMap(([key, override]) =>
    systemRules(key, settings, { ignoreDifferences: override.ignoreDifferences }),
  );
  return [...rules, ...statusRules(settings), ...knownTypeRules(settings.overrides)];
}

function updateRules(settings: Settings): readonly Rule[] {
  const rules = Object.entries(settings.overrides).flatMap(([key, override]) =>
    systemRules(key, settings, {
      ignoreResourceUpdates: override.ignoreResourceUpdates,
      ...(settings.ignoreDifferencesOnResourceUpdates ? { ignoreDifferences: override.ignoreDifferences } : {}),
    }),
  );
  const always = ['/metadata/resourceVersion', '/metadata/generation', '/metadata/managedFields'];
  // The status default belongs to ignoreDifferences of `*/*`: it counts for updates exactly when those do.
  const status = settings.ignoreDifferencesOnResourceUpdates ? statusRules(settings) : [];
  return [...rules, ...status, everyKind(always)];
}

function everyKind(pointers: readonly string[]): Rule {
  return { matches: () => true, ...partsOf({ jsonPointers: pointers }, 'the defaults'), managers: [] };
}

function statusRules({ ignoreResourceStatusField: which }: Settings): readonly Rule[] {
  if (which === 'none') return [];
  if (which === 'all') return [everyKind(['/status'])];
  const matches = (ref: ResourceRef): boolean =>
    ref.group === 'apiextensions.k8s.io' && ref.kind === 'CustomResourceDefinition';
  return [{ ...everyKind(['/status']), matches }];
}

type Ignore = Omit<ResourceIgnoreDifferences, 'kind'>;

/**
 * Rules of `resource.customizations` for a key `group/Kind`, `Kind` or globs. Managers count for `*\/*` and for exactly this kind; a key of a
 * core kind is found without its slash, where upstream never finds it.
 */
function systemRules(
  key: string,
  settings: Settings,
  ignores: Readonly<Record<string, Ignore | undefined>>,
): readonly Rule[] {
  const parts = key.split('/');
  if (parts.length > 2 || key === '') return [];
  const [group, kind] = parts.length === 2 ? [parts[0] ?? '', parts[1] ?? ''] : ['', parts[0] ?? ''];
  const matches = kindMatcher(group, kind);
  const exactly = (ref: ResourceRef): boolean => key === '*/*' || (ref.group === group && ref.kind === kind);
  return Object.entries(ignores).flatMap(([field, ignore]) =>
    ignore === undefined
      ? []
      : [
          { matches, ...partsOf(ignore, settingOf(settings, field, key)), managers: [] },
          { matches: exactly, parts: [], managers: ignore.managedFieldsManagers ?? [], faults: [] },
        ],
  );
}

/** The key of argocd-cm that a customization was read from: its own, or the one for all. */
function settingOf({ raw }: Settings, field: string, key: string): string {
  const own_ = [key.replace('/', '_'), ...(key === '*/*' ? ['all'] : [])].map(
    (name) => `resource.customizations.${field}.${name}`,
  );
  const found = own_.find((name) => Object.hasOwn(raw, name)) ?? `resource.customizations (${key}, ${field})`;
  return `argocd-cm ${found}`;
}

function compileAppRule(rule: ResourceIgnoreDifferences, where: string): Rule {
  const kind = kindMatcher(rule.group ?? '', rule.kind);
  const matches = (ref: ResourceRef): boolean =>
    kind(ref) &&
    ((rule.name ?? '') === '' || rule.name === ref.name) &&
    ((rule.namespace ?? '') === '' || rule.namespace === ref.namespace);
  return { matches, ...partsOf(rule, where), managers: rule.managedFieldsManagers ?? [] };
}

function kindMatcher(group: string, kind: string): (ref: ResourceRef) => boolean {
  const [groups, kinds] = [compileGlob(group), compileGlob(kind)];
  return (ref) => groups?.(ref.group) === true && kinds?.(ref.kind) === true;
}

function partsOf(rule: Ignore, where: string): Pick<Rule, 'parts' | 'faults'> {
  const faults: RuleFault[] = [];
  const parts: Part[] = [];
  for (const text of rule.jsonPointers ?? []) {
    const teller = faultOf(where, 'jsonPointer', text);
    const steps = stepsOf(text);
    if (!text.startsWith('/')) faults.push({ ...teller(pointerProblem(steps)), undecided: false });
    const pointed = (value: Json): ReturnType<Finder> => [pathOf(value, steps)].filter((path) => path !== undefined);
    if (steps.length > 0) parts.push({ find: pointed, fault: teller });
  }
  for (const text of rule.jqPathExpressions ?? []) {
    const teller = faultOf(where, 'jqPathExpression', text);
    try {
      const { find, warning, isForJq } = compileExpression(text);
      if (warning !== undefined) faults.push({ ...teller(warning), undecided: false });
      parts.push({ find, fault: teller, jq: true, ...(isForJq === undefined ? {} : { program: text }) });
    } catch (error) {
      if (!(error instanceof DiffRulesError)) throw error;
      faults.push(teller(error.problem));
    }
  }
  return { parts, faults };
}

const maxShown = 120;

/** Tells where and which rule it is; never a value of an object. */
function faultOf(where: string, form: string, text: string): (problem: string) => RuleFault {
  const shown = text.length <= maxShown ? text : `${text.slice(0, maxShown - 3)}...`;
  return (problem) => ({ where, rule: `${form} "${shown}"`, problem, undecided: true });
}

/** As Argo CD's library reads a pointer: what stands before the first slash is not looked at. Without a slash it names nothing. */
function stepsOf(pointer: string): readonly string[] {
  const slash = pointer.indexOf('/');
  return slash < 0 ? [] : (parsePointer(pointer.slice(slash)) ?? []);
}

function pointerProblem(steps: readonly string[]): string {
  return steps.length === 0
    ? 'names nothing, because it does not start with "/"'
    : 'does not start with "/", so its first step is left out';
}

const rolloutSpec = { field: 'spec.template.spec', type: 'core/v1/PodSpec' };

/** `knownTypeFields`: fields of custom resources that are written as a built-in type (Argo CD: util/argo/normalizers/knowntypes). */
function knownTypeRules(overrides: Readonly<Record<string, ResourceOverride>>): readonly Rule[] {
  const rules: Rule[] = [];
  if ((overrides['argoproj.io/Rollout']?.knownTypeFields.length ?? 0) === 0)
    rules.push(knownTypeRule('argoproj.io/Rollout', [rolloutSpec]));
  for (const [key, override] of Object.entries(overrides))
    if (override.knownTypeFields.length > 0) rules.push(knownTypeRule(key, override.knownTypeFields));
  return rules;
}

function knownTypeRule(key: string, fields: ResourceOverride['knownTypeFields']): Rule {
  const slash = key.indexOf('/');
  const [group, kind] = [slash < 0 ? '' : key.slice(0, slash), key.slice(slash + 1)];
  const parts = fields.flatMap(({ field, type }) => {
    const schema = namedSchema(type);
    return schema === undefined ? [] : [{ rewrite: (value: Json) => rewrite(value, field.split('.'), schema) }];
  });
  return { matches: (ref) => ref.group === group && ref.kind === kind, parts, managers: [], faults: [] };
}

/** Lists on the way are walked through. */
function rewrite(value: Json, steps: readonly string[], schema: TypeSchema): Json {
  if (isList(value)) {
    const list = value;
    const after = list.map((item) => rewrite(item, steps, schema));
    return after.every((item, i) => item === list[i]) ? value : after;
  }
  const [step, ...rest] = steps;
  if (step === undefined) return canonicalise(value, schema);
  if (!isObject(value)) return value;
  const before = own(value, step);
  if (before === undefined) return value;
  const after = rewrite(before, rest, schema);
  if (after === before) return value;
  const copy: MutableJsonObject = {};
  for (const key of Object.keys(value)) setOwn(copy, key, (key === step ? after : value[key]) as MutableJson);
  return copy;
}
