import { isObject } from '#base';
import type { Json, JsonObject } from '#base';

type IsReadable = (value: Json) => boolean;

/** A stored status as it can be read, and what of it cannot. */
export interface ReadableStatus {
  readonly status: JsonObject | undefined;
  /** Names of the members that lack something here: their type is not that of the schema. */
  readonly malformed: readonly string[];
}

const isText: IsReadable = (value) => typeof value === 'string';
const isInteger: IsReadable = (value) => typeof value === 'number' || typeof value === 'bigint';
const isFlag: IsReadable = (value) => typeof value === 'boolean';

function listOf(isItem: IsReadable): IsReadable {
  return (value) => Array.isArray(value) && value.every(isItem);
}

/** Members without a name here, absent ones and nulls are readable. */
function objectOf(members: Readonly<Record<string, IsReadable>>, required: readonly string[] = []): IsReadable {
  const known = Object.entries(members);
  return (value) =>
    isObject(value) &&
    required.every((name) => value[name] !== undefined && value[name] !== null) &&
    known.every(([name, isReadable]) => {
      const member = value[name];
      return member === undefined || member === null || isReadable(member);
    });
}

const anyObject = objectOf({});
const health = objectOf({ status: isText, message: isText, lastTransitionTime: isText });
const names = { group: isText, version: isText, kind: isText, namespace: isText, name: isText, status: isText };
const comparedTo = objectOf({ source: anyObject, sources: listOf(anyObject), destination: anyObject });
const revisions = { revision: isText, revisions: listOf(isText) };
const resource = objectOf({
  ...names,
  health,
  hook: isFlag,
  requiresPruning: isFlag,
  requiresDeletionConfirmation: isFlag,
  syncWave: isInteger,
});
const results = listOf(objectOf({ ...names, message: isText, hookPhase: isText, syncPhase: isText, hookType: isText }));

/** Lists whose readable items are kept. */
const lists: Readonly<Record<string, IsReadable>> = {
  conditions: objectOf({ type: isText, message: isText, lastTransitionTime: isText }, ['type']),
  history: objectOf({
    id: isInteger,
    ...revisions,
    source: anyObject,
    sources: listOf(anyObject),
    deployedAt: isText,
    deployStartedAt: isText,
    initiatedBy: anyObject,
  }),
  resources: resource,
};

const members: Readonly<Record<string, IsReadable>> = {
  sync: objectOf({ status: isText, comparedTo, ...revisions }),
  health,
  reconciledAt: isText,
  sourceType: isText,
  sourceTypes: listOf(isText),
  summary: objectOf({ externalURLs: listOf(isText), images: listOf(isText), isAppOfApps: isFlag }),
  resourceHealthSource: isText,
  controllerNamespace: isText,
  sourceHydrator: anyObject,
};

const syncResult = objectOf({ ...revisions, source: anyObject, sources: listOf(anyObject), resources: results }, [
  'source',
]);
/** Members of the state of an ended operation; the processor ends a malformed running one. */
const endedState: Readonly<Record<string, IsReadable>> = {
  operation: objectOf({ sync: anyObject, initiatedBy: anyObject, retry: anyObject, info: listOf(anyObject) }),
  message: isText,
  startedAt: isText,
  finishedAt: isText,
  retryCount: isInteger,
  syncResult,
};
const ends: readonly Json[] = ['Succeeded', 'Failed', 'Error'];

/**
 * Reads a stored status. Without a schema in the CRD, clients can write any value: a member of the
 * wrong type counts as absent.
 */
export function readStatus(stored: Json | undefined): ReadableStatus {
  if (stored === undefined || stored === null) return { status: undefined, malformed: [] };
  if (!isObject(stored)) return { status: undefined, malformed: ['status'] };
  const changes: Record<string, Json | undefined> = {};
  for (const [name, value] of Object.entries(stored)) {
    if (value === null || value === undefined) continue;
    const isItem = lists[name];
    if (isItem !== undefined) {
      const kept = Array.isArray(value) ? value.filter(isItem) : undefined;
      if (kept?.length !== (Array.isArray(value) ? value.length : -1)) changes[name] = kept;
    } else if (members[name]?.(value) === false) changes[name] = undefined;
  }
  const state = readEndedState(stored['operationState']);
  if (state !== stored['operationState']) changes['operationState'] = state;
  const malformed = Object.keys(changes);
  const status = malformed.length === 0 ? stored : { ...stored, ...changes };
  return { status: status, malformed };
}

function readEndedState(state: Json | undefined): Json | undefined {
  if (!isObject(state) || !ends.includes(state['phase'] ?? '')) return state;
  const bad = Object.entries(endedState).filter(([name, isReadable]) => {
    const value = state[name] ?? undefined;
    return value === undefined ? name in requiredOfState : !isReadable(value);
  });
  if (bad.length === 0) return state;
  const unread = new Set(bad.map(([name]) => name));
  const rest = Object.fromEntries(Object.entries(state).filter(([name]) => !unread.has(name)));
  return { ...requiredOfState, ...rest };
}

/** Values for the members that the schema requires. */
const requiredOfState = { operation: {}, startedAt: '1970-01-01T00:00:00Z' };
