import { isObject, messageOf, ownMember, parseYamlDocuments } from '#base';
import type { Json } from '#base';
import { annotationOf, annotations, gkOf } from '#model';
import type { KubeObject, ResourceIgnoreDifferences } from '#model';
import type { RuleFault } from './diff-rules.ts';
import { withinBudget } from './rule-budget.ts';
import { readRule } from './rule-parts.ts';
import type { RuleParts } from './rule-parts.ts';

/** JSON pointers of a manifest's own annotation, and what is wrong with it. */
interface AnnotatedPointers {
  readonly pointers: readonly string[];
  readonly faults: readonly RuleFault[];
}

const source = `annotation ${annotations.ignoreDifferences}`;
const nothing: AnnotatedPointers = { pointers: [], faults: [] };
const noParts: RuleParts = { parts: [], faults: [] };
/** Manifests are immutable, so an entry lives as long as its manifest. */
const partsByManifest = new WeakMap<KubeObject, RuleParts>();
const maxTextLength = 64 * 1024;

/**
 * The ignore rule that a manifest has in its annotation `ignore-differences` (Argo CD:
 * util/argo/diff/ignore.go). Only the manifest counts, never the live object.
 */
export function annotatedRule(target: KubeObject): RuleParts {
  if (annotationOf(target, annotations.ignoreDifferences) === undefined) return noParts;
  let parts = partsByManifest.get(target);
  if (parts === undefined) {
    parts = compile(target);
    partsByManifest.set(target, parts);
  }
  return parts;
}

/** The pointers as they are written, for explanations. */
export function annotatedPointers(target: KubeObject): readonly string[] {
  return readAnnotation(target).pointers;
}

function compile(target: KubeObject): RuleParts {
  const { pointers, faults } = readAnnotation(target);
  const entry: ResourceIgnoreDifferences = { ...gkOf(target), jsonPointers: pointers };
  const budgeted = withinBudget([entry], source);
  const read = readRule({ jsonPointers: budgeted.list[0]?.jsonPointers ?? [] }, source);
  const overBudget = budgeted.fault === undefined ? [] : [budgeted.fault];
  return { parts: read.parts, faults: [...faults, ...overBudget, ...read.faults] };
}

function readAnnotation(target: KubeObject): AnnotatedPointers {
  const text = annotationOf(target, annotations.ignoreDifferences) ?? '';
  if (text === '') return nothing;
  if (text.length > maxTextLength)
    return { pointers: [], faults: [fault(`is longer than ${maxTextLength} characters`)] };
  try {
    return pointersOf(parseYamlDocuments(text)[0] ?? null);
  } catch (error) {
    return { pointers: [], faults: [fault(`is not valid YAML: ${messageOf(error)}`)] };
  }
}

function pointersOf(value: Json): AnnotatedPointers {
  if (!isObject(value)) return { pointers: [], faults: [fault('must be a map with jsonPointers')] };
  const names = Object.keys(value);
  const name = names.find((key) => key.toLowerCase() === 'jsonpointers');
  const list = name === undefined ? undefined : ownMember(value, name);
  const pointers = Array.isArray(list) ? (list as readonly Json[]).filter((item) => typeof item === 'string') : [];
  if (pointers.length === 0 || pointers.length !== (list as readonly Json[]).length)
    return { pointers: [], faults: [fault('must have a list of texts in jsonPointers')] };
  return {
    pointers,
    faults: names.length === 1 ? [] : [{ ...fault(otherKeys), undecided: false }],
  };
}

const otherKeys = 'ignores by jsonPointers only; its other keys have no effect';

/** It is unknown what the annotation was to ignore. In Argo CD it ignores nothing. */
function fault(problem: string): RuleFault {
  return { where: source, rule: 'value', problem, undecided: true };
}
