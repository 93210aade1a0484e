import { isObject } from '#base';
import type { Json, JsonObject } from '#base';
import { healthOf } from '#health';
import { defaultSettings } from '#model';
import type { KubeObject } from '#model';
import { failureOf, textOf } from '../area.ts';
import type { Area, Verdict } from '../area.ts';
import type { Draw } from '../draw.ts';
import { mutated, pathsIn, replaceAt, valueAtPath } from '../mutate.ts';
import { builtInStatuses } from './built-in-statuses.ts';
import { healthExamples } from './manifests.ts';

/** A real-looking object of a kind with a check, changed a little. */
function healthCase(draw: Draw): Json {
  let object: Json = draw.chance(0.35) ? draw.pick(builtInStatuses) : draw.pick(healthExamples);
  const times = draw.pick([0, 1, 1, 1, 2, 2, 3, 4]);
  object = mutated(object, times, draw);
  if (draw.chance(0.3)) object = withGenerations(object, draw);
  if (draw.chance(0.04)) object = replaceAt(object, ['metadata', 'deletionTimestamp'], '2024-01-01T00:00:00Z');
  return { object, configMap: {}, isTyped: draw.keepsTypes };
}

function withGenerations(object: Json, draw: Draw): Json {
  const number = (): number => draw.pick([0, 1, 2, 2, 3]);
  const result = replaceAt(object, ['metadata', 'generation'], number());
  if (draw.chance(0.3)) return result;
  const status = isObject(result) && isObject(result['status']) ? result['status'] : {};
  const isText = typeof status['observedGeneration'] === 'string';
  const observedGeneration = isText ? String(number()) : number();
  return replaceAt(result, ['status'], { ...status, observedGeneration });
}

function ofObject(input: Json): JsonObject {
  const object = isObject(input) ? input['object'] : undefined;
  return isObject(object) ? object : {};
}

function judge(input: Json, answer: Parameters<Area['judge']>[1]): Verdict {
  const status = healthOf(ofObject(input) as unknown as KubeObject, { overrides: defaultSettings.overrides });
  const ours: Json = status === null ? { none: true } : { status: status.status, message: status.message ?? '' };
  const theirs = failureOf(answer);
  if (!isObject(theirs) || !Object.hasOwn(theirs, 'status')) return { ours, theirs };
  return { ours, theirs: { status: theirs['status'] ?? '', message: theirs['message'] ?? '' } };
}

const rows = {
  customKinds: 'health of custom kinds',
  deletion: 'health of an object that is being deleted',
  otherTypes: 'health of an object whose fields have other types than its schema',
} as const;

/** Errors of Go and Lua for values of types that the schema of their kind forbids. */
const typeErrors =
  /failed to convert unstructured|unsupported HPA GVK|conditions annotation to typed|non-table object\((?:number|string|boolean)\)|bad argument|attempt to (?:compare|concat|perform|call)|cannot (?:perform|concat)/;
const absentMember = /non-table object\(nil\)|got nil/;

function explain(input: Json, { ours, theirs }: Verdict): string | undefined {
  if (!isObject(ours) || !isObject(theirs) || ours['threw'] !== undefined) return undefined;
  const object = ofObject(input);
  const message = textOf(theirs['message']);
  if (isBeingDeleted(object)) return rows.deletion;
  if (absentMember.test(message) || theirs['status'] === '' || isOfLine(object)) return rows.customKinds;
  const isTyped = !isObject(input) || input['isTyped'] !== false;
  return !isTyped || typeErrors.test(message) || hasHugeNumber(object) ? rows.otherTypes : undefined;
}

function isBeingDeleted({ metadata }: JsonObject): boolean {
  return isObject(metadata) && (metadata['deletionTimestamp'] ?? null) !== null;
}

/** Kinds whose check is that of the start of the 3.6 line. */
function isOfLine({ apiVersion, kind }: JsonObject): boolean {
  return (
    textOf(apiVersion).startsWith('promoter.argoproj.io/') || ['SealedSecret', 'VirtualMachine'].includes(textOf(kind))
  );
}

/** Numbers that Go's int32, or Lua's doubles, cannot hold. */
function hasHugeNumber(value: Json): boolean {
  return pathsIn(value).some((path) => {
    const here = valueAtPath(value, path);
    return (typeof here === 'number' || typeof here === 'bigint') && Math.abs(Number(here)) > 2 ** 31 - 1;
  });
}

export const healthArea: Area = {
  name: 'health',
  generate: healthCase,
  judge,
  shapeOf: (input) => textOf(ofObject(input)['kind']),
  explain,
};
