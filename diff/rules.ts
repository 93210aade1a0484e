import { compileGlob, isObject, own, parsePointer, setOwn } from '#base';
import type { Json, JsonObject, MutableJson, MutableJsonObject } from '#base';
import type { ResourceIgnoreDifferences, ResourceOverride, ResourceRef, Settings } from '#model';
import { canonicalise } from './canonical.ts';
import { DiffRulesError } from './errors.ts';
import { compileRemover } from './jq.ts';
import type { Remover } from './jq.ts';
import { removeSteps } from './remove.ts';
import { namedSchema } from './schema.ts';
import type { TypeSchema } from './schema.ts';
import { isList } from './values.ts';

/** One source of ignore rules, ready to run. */
interface Rule {
  readonly matches: (ref: ResourceRef) => boolean;
  readonly removers: readonly Remover[];
  readonly managers: readonly string[];
}

/** What is ignored of one object. */
export interface Ignored {
  /** Takes out what the rules name; the same reference when there is nothing. */
  readonly strip: (object: JsonObject) => JsonObject;
  readonly managers: ReadonlySet<string>;
}

/**
 * Compiled rules by the settings, and by the list of the application, that they come from. Both are immutable values that live as long as
 * they are in use, so entries go with them.
 */
const bySettings = new WeakMap<Settings, { readonly diff: readonly Rule[]; readonly updates: readonly Rule[] }>();
const byList = new WeakMap<readonly ResourceIgnoreDifferences[], readonly Rule[]>();

/** The ignore rules of a comparison for one object: the application's and the system's (Argo CD: util/argo/normalizers). */
export function ignoredInDiff(
  ref: ResourceRef,
  settings: Settings,
  list: readonly ResourceIgnoreDifferences[],
): Ignored {
  let own_ = byList.get(list);
  if (own_ === undefined) {
    own_ = list.map(compileAppRule);
    byList.set(list, own_);
  }
  return combine([...own_, ...compiled(settings).diff], ref);
}

/** The rules for the fingerprint of updates (Argo CD: settings GetIgnoreResourceUpdatesOverrides). */
export function ignoredInUpdates(ref: ResourceRef, settings: Settings): Ignored {
  return combine(compiled(settings).updates, ref);
}

function combine(rules: readonly Rule[], ref: ResourceRef): Ignored {
  const matching = rules.filter((rule) => rule.matches(ref));
  const removers = matching.flatMap((rule) => rule.removers);
  return {
    strip: (object) => removers.reduce<Json>((value, remove) => remove(value), object) as JsonObject,
    managers: new Set(matching.flatMap((rule) => rule.managers)),
  };
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
    systemRules(key, [override.ignoreDifferences]),
  );
  return [...rules, ...statusRules(settings), ...knownTypeRules(settings.overrides)];
}

function updateRules(settings: Settings): readonly Rule[] {
  const rules = Object.entries(settings.overrides).flatMap(([key, override]) =>
    systemRules(key, [
      override.ignoreResourceUpdates,
      ...(settings.ignoreDifferencesOnResourceUpdates ? [override.ignoreDifferences] : []),
    ]),
  );
  const always = ['/metadata/resourceVersion', '/metadata/generation', '/metadata/managedFields'];
  // The status default belongs to ignoreDifferences of `*/*`: it counts for updates exactly when those do.
  const status = settings.ignoreDifferencesOnResourceUpdates ? statusRules(settings) : [];
  return [...rules, ...status, everyKind(always)];
}

function everyKind(pointers: readonly string[]): Rule {
  return { matches: () => true, removers: pointers.map(compilePointer), managers: [] };
}

function statusRules({ ignoreResourceStatusField: which }: Settings): readonly Rule[] {
  if (which === 'none') return [];
  if (which === 'all') return [everyKind(['/status'])];
  const matches = (ref: ResourceRef): boolean =>
    ref.group === 'apiextensions.k8s.io' && ref.kind === 'CustomResourceDefinition';
  return [{ matches, removers: [compilePointer('/status')], managers: [] }];
}

type Ignore = Omit<ResourceIgnoreDifferences, 'kind'>;

/**
 * Rules of `resource.customizations` for a key `group/Kind`, `Kind` or globs. Managers count for `*\/*` and for exactly this kind; a key of a
 * core kind is found without its slash, where upstream never finds it.
 */
function systemRules(key: string, ignores: readonly (Ignore | undefined)[]): readonly Rule[] {
  const parts = key.split('/');
  if (parts.length > 2 || key === '') return [];
  const [group, kind] = parts.length === 2 ? [parts[0] ?? '', parts[1] ?? ''] : ['', parts[0] ?? ''];
  const matches = kindMatcher(group, kind);
  const exactly = (ref: ResourceRef): boolean => key === '*/*' || (ref.group === group && ref.kind === kind);
  return ignores
    .filter((ignore) => ignore !== undefined)
    .flatMap((ignore) => [
      { matches, removers: removersOf(ignore), managers: [] },
      { matches: exactly, removers: [], managers: ignore.managedFieldsManagers ?? [] },
    ]);
}

function compileAppRule(rule: ResourceIgnoreDifferences): Rule {
  const kind = kindMatcher(rule.group ?? '', rule.kind);
  const matches = (ref: ResourceRef): boolean =>
    kind(ref) &&
    ((rule.name ?? '') === '' || rule.name === ref.name) &&
    ((rule.namespace ?? '') === '' || rule.namespace === ref.namespace);
  return { matches, removers: removersOf(rule), managers: rule.managedFieldsManagers ?? [] };
}

function kindMatcher(group: string, kind: string): (ref: ResourceRef) => boolean {
  const [groups, kinds] = [compileGlob(group), compileGlob(kind)];
  return (ref) => groups?.(ref.group) === true && kinds?.(ref.kind) === true;
}

function removersOf(rule: Ignore): readonly Remover[] {
  return [...(rule.jsonPointers ?? []).map(compilePointer), ...(rule.jqPathExpressions ?? []).map(compileRemover)];
}

/** A pointer without its first slash is refused here; upstream lets it through and it never matches. */
function compilePointer(pointer: string): Remover {
  const steps = parsePointer(pointer);
  if (steps === undefined || steps.length === 0)
    throw new DiffRulesError(`the JSON pointer "${pointer}" of an ignore rule does not start with "/"`);
  return (value) => removeSteps(value, steps);
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
  const removers = fields.flatMap(({ field, type }) => {
    const schema = namedSchema(type);
    return schema === undefined ? [] : [(value: Json) => rewrite(value, field.split('.'), schema)];
  });
  return { matches: (ref) => ref.group === group && ref.kind === kind, removers, managers: [] };
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
