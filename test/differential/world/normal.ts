import { isObject } from '#base';
import type { Json, JsonObject } from '#base';

/** Members that only the server or the time decides. */
const noise = new Set([
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'managedFields',
  'selfLink',
  'reconciledAt',
  'lastTransitionTime',
  'lastUpdateTime',
  'startedAt',
  'finishedAt',
  'deployStartedAt',
  'deployedAt',
  'observedAt',
  'autoHealAttemptsCount',
  'observedGeneration',
  'clusterIP',
  'clusterIPs',
  'controller-uid',
  'batch.kubernetes.io/controller-uid',
  'refresh-timestamp',
]);

const accidents: readonly (readonly [RegExp, string])[] = [
  [/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?: ?Z| ?[+-]\d\d:?\d\d(?: [A-Z]{3,4})?)?/g, '<time>'],
  [/127\.0\.0\.1:\d+/g, '<address>'],
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, '<uid>'],
  [/\b10\.96\.\d+\.\d+\b/g, '<ip>'],
  [/object is being deleted: \S+ /g, 'object is being deleted: <name> '],
];

/** A value without what differs between two runs of one controller. Arrays keep their order. */
export function normalOf(value: Json): Json {
  if (typeof value === 'string') return normalText(value);
  if (isList(value)) return value.map(normalOf);
  if (!isObject(value)) return value;
  const members = Object.entries(value)
    .filter(([name, member]) => member !== undefined && !noise.has(name))
    .map(([name, member]) => [name, name === lastApplied ? parsed(member) : normalOf(member as Json)]);
  return Object.fromEntries(members) as JsonObject;
}

const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';

function parsed(text: Json | undefined): Json {
  try {
    return normalOf(JSON.parse(typeof text === 'string' ? text : '') as Json);
  } catch {
    return text ?? null;
  }
}

export function normalText(text: string): string {
  return accidents.reduce((found, [pattern, name]) => found.replaceAll(pattern, name), text);
}

export function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}

/** A difference of two values, at its path. */
export interface PathDifference {
  readonly path: string;
  readonly theirs: Json | undefined;
  readonly ours: Json | undefined;
}

/** The paths at which two values differ; members of objects by name, items of lists by index. */
export function differencesOf(theirs: Json | undefined, ours: Json | undefined, path = ''): readonly PathDifference[] {
  if (isObject(theirs) && isObject(ours)) {
    const names = [...new Set([...Object.keys(theirs), ...Object.keys(ours)])].sort();
    return names.flatMap((name) => differencesOf(theirs[name] as Json, ours[name] as Json, `${path}/${name}`));
  }
  if (isList(theirs) && isList(ours) && theirs.length === ours.length)
    return theirs.flatMap((item, i) => differencesOf(item, ours[i], `${path}/${i}`));
  if (JSON.stringify(theirs) === JSON.stringify(ours)) return [];
  return [{ path, theirs, ours }];
}
