import { isObject, parseJson, stringifyJson } from '#base';
import type { Json, JsonObject } from '#base';
import { annotations } from '#model';
import { textOf } from '../area.ts';
import type { Verdict } from '../area.ts';
import { pathsIn, replaceAt, valueAtPath } from '../mutate.ts';
import type { OracleAnswer } from '../oracle.ts';
import { compareCase } from './diff-case.ts';
import type { DiffCase } from './diff-case.ts';

const rows = {
  cannotMerge: 'a manifest that cannot be merged (items without the key of their list, a value of another type)',
  emptyValues: 'empty values in Git (`false`, `0`, `""`, `[]`, `{}`, `null`) where the live object has others',
  filledIn: 'values that the API server fills in where nothing was written',
  ignoreRule: 'an ignore rule that cannot be evaluated (jq that is none, or too much work)',
  knownTypes: '`knownTypeFields` of resource customizations',
  namespaceFinalizers: '`spec.finalizers` of a Namespace',
  newerFields: 'fields of built-in kinds that are newer than Kubernetes 1.36',
  repeated: 'several items of one key in a list that is merged by keys (two `env` entries of one name)',
  threeWay: "three-way comparison with kubectl's last-applied annotation",
} as const;

/** The row that explains a difference of a comparison. */
export function explainDiff(input: Json, { ours, theirs }: Verdict, answer: OracleAnswer): string | undefined {
  const given = input as unknown as DiffCase;
  if (answer.kind === 'error') return explainError(answer.text);
  // Go maps have no keys that are objects.
  if (answer.kind === 'panic' && answer.text.includes('uncomparable type')) return rows.cannotMerge;
  if (answer.kind !== 'result' || !isObject(ours) || !isObject(theirs)) return undefined;
  if (ours['undecided'] === true) return rows.ignoreRule;
  if (JSON.stringify(given.configMap).includes('knownTypeFields')) return rows.knownTypes;
  if (hasFinalizersInSpec(given.target)) return rows.namespaceFinalizers;
  if (hasRepeatedItem(given.target) || hasRepeatedItem(lastApplied(given.live))) return rows.repeated;
  return ours['modified'] === true ? explainFound(given) : explainPassedOver(given, answer.value);
}

/** Why only we find a difference. */
function explainFound(given: DiffCase): string | undefined {
  const { target, live } = given;
  if (!isObject(target) || !isObject(live)) return undefined;
  const isModified = (change: Partial<DiffCase>): boolean => compareCase({ ...given, ...change }).modified;
  if (!isModified({ live: replaceAt(live, ['metadata', 'managedFields'], undefined) as JsonObject }))
    return rows.threeWay;
  if (ignoresLastApplied(given)) return rows.threeWay;
  if (compareCase(given).paths.some((pointer) => touchesEmpty(target, pointer))) return rows.emptyValues;
  return stringifyJson(live).includes('preventPodSchedulingIfMissing') ? rows.newerFields : undefined;
}

/** Why only the original finds a difference. */
function explainPassedOver({ target, live }: DiffCase, answer: Json): string | undefined {
  if (isObject(answer) && answer['sameStored'] === true) return rows.filledIn;
  // Kinds that the original knows no type of: what Go omits is never stored, defaults always are.
  const isUnknownType = /^(?:apiextensions[.]k8s[.]io|example[.]com|argoproj[.]io)/.test(
    textOf(target?.['apiVersion']),
  );
  const isLeftOut = (value: Json): boolean =>
    isEmpty(value) || (isObject(value) && value['strategy'] === 'None' && Object.keys(value).length === 1);
  const hasLeftOut = (object: Json): boolean => stringifyJson(without(object, isLeftOut)) !== stringifyJson(object);
  return isUnknownType && [target, live, lastApplied(live)].some(hasLeftOut) ? rows.filledIn : undefined;
}

function explainError(text: string): string | undefined {
  if (/failed to calculate diff|merge key|patch/.test(text)) return rows.cannotMerge;
  if (text.includes('failed to create diff normalizer')) return rows.ignoreRule;
  if (/known type|unmarshal/.test(text)) return rows.knownTypes;
  return undefined;
}

/** A rule removes the annotation before the original reads it. */
function ignoresLastApplied({ ignoreDifferences, configMap }: DiffCase): boolean {
  const text = JSON.stringify([ignoreDifferences, configMap]);
  return text.includes('metadata/annotations') || text.includes('metadata.annotations');
}

/** The manifest has an empty value at the pointer, above it or below it. */
function touchesEmpty(target: JsonObject, pointer: string): boolean {
  const path = pointer
    .split('/')
    .slice(1)
    .map((step) => (/^\d+$/.test(step) ? Number(step) : step));
  const above = path.map((_, i) => valueAtPath(target, path.slice(0, i + 1))).filter((value) => value !== undefined);
  const here = valueAtPath(target, path);
  return above.some(isEmpty) || (here !== undefined && stringifyJson(without(here, isEmpty)) !== stringifyJson(here));
}

function lastApplied(live: JsonObject | null): Json {
  const text = live === null ? undefined : valueAtPath(live, ['metadata', 'annotations', annotations.lastApplied]);
  return typeof text === 'string' ? parseJson(text) : null;
}

const itemKeyNames = ['name', 'port', 'containerPort', 'mountPath', 'devicePath', 'ip', 'type', 'topologyKey', 'uid'];

function hasRepeatedItem(object: Json): boolean {
  return pathsIn(object).some((path) => {
    const list = valueAtPath(object, path);
    const items = Array.isArray(list) ? (list as readonly Json[]).filter(isObject) : [];
    const keys = items.map((item) => stringifyJson(itemKeyNames.map((name) => item[name] ?? null)));
    return new Set(keys).size < keys.length;
  });
}

function without(object: Json, isUnwanted: (value: Json) => boolean): Json {
  return pathsIn(object)
    .filter((path) => isUnwanted(valueAtPath(object, path) ?? null))
    .reverse()
    .reduce((left, path) => replaceAt(left, path, undefined), object);
}

function isEmpty(value: Json): boolean {
  return typeof value === 'object'
    ? value === null || Object.keys(value).length === 0
    : ['', 0, false].includes(value as string);
}

function hasFinalizersInSpec(target: JsonObject | null): boolean {
  const spec = target?.['kind'] === 'Namespace' ? target['spec'] : undefined;
  return isObject(spec) && Object.hasOwn(spec, 'finalizers');
}
