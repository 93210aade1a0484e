import { isObject, ownMember, setOwnMember } from '#base';
import type { Json, MutableJson, MutableJsonObject } from '#base';
import type { ResourceOverride } from '#model';
import { canonicalise } from '../normalize/canonical.ts';
import { namedTypes } from '../schema/named-types.ts';
import type { TypeSchema } from '../schema/schema.ts';
import { isList } from '../shared/values.ts';
import { anywhere } from './rule.ts';
import type { IgnoreRule, KindRef } from './rule.ts';

const rolloutSpec = { field: 'spec.template.spec', type: 'core/v1/PodSpec' };

/**
 * `knownTypeFields`: fields of custom resources that have a built-in type (Argo CD:
 * util/argo/normalizers/knowntypes).
 */
export function knownTypeRules(overrides: Readonly<Record<string, ResourceOverride>>): readonly IgnoreRule[] {
  const rules: IgnoreRule[] = [];
  if ((overrides['argoproj.io/Rollout']?.knownTypeFields.length ?? 0) === 0)
    rules.push(knownTypeRule('argoproj.io/Rollout', [rolloutSpec]));
  for (const [key, override] of Object.entries(overrides))
    if (override.knownTypeFields.length > 0) rules.push(knownTypeRule(key, override.knownTypeFields));
  return rules;
}

/** Whether `knownTypeFields` may name this type. */
export function isKnownType(type: string): boolean {
  return namedTypes.has(type);
}

function knownTypeRule(key: string, fields: ResourceOverride['knownTypeFields']): IgnoreRule {
  const slash = key.indexOf('/');
  const [group, kind] = [slash < 0 ? '' : key.slice(0, slash), key.slice(slash + 1)];
  const parts = fields.flatMap(({ field, type }) => {
    const schema = namedTypes.get(type);
    return schema === undefined ? [] : [{ rewrite: (value: Json) => rewrite(value, field.split('.'), schema) }];
  });
  const matchesKind = (ref: KindRef): boolean => ref.group === group && ref.kind === kind;
  return { ...anywhere(matchesKind), parts, managers: [], faults: [] };
}

/** Descends into every item of lists on the way. */
function rewrite(value: Json, steps: readonly string[], schema: TypeSchema): Json {
  if (isList(value)) {
    const list = value;
    const after = list.map((item) => rewrite(item, steps, schema));
    return after.every((item, i) => item === list[i]) ? value : after;
  }
  const [step, ...rest] = steps;
  if (step === undefined) return canonicalise(value, schema);
  if (!isObject(value)) return value;
  const before = ownMember(value, step);
  if (before === undefined) return value;
  const after = rewrite(before, rest, schema);
  if (after === before) return value;
  const copy: MutableJsonObject = {};
  for (const key of Object.keys(value)) setOwnMember(copy, key, (key === step ? after : value[key]) as MutableJson);
  return copy;
}
