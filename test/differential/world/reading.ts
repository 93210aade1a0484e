import { isObject, omit } from '#base';
import type { Json, JsonObject } from '#base';
import type { KubeObject } from '#model';
import { itemPaths } from './content.ts';
import { differencesOf, isList, normalOf } from './normal.ts';
import type { PathDifference } from './normal.ts';
import type { WorldSide } from './side.ts';
import { argoNamespace } from './side.ts';

/** Parts of a world that are compared. */
export type WorldArea = 'objects' | 'application' | 'status' | 'operation' | 'conditions' | 'resources' | 'events';

/** An Application and its objects in the form that is compared. */
export type AppReading = Readonly<Record<WorldArea, Json>>;

/** A difference of one Application. */
export interface WorldDifference extends PathDifference {
  readonly app: string;
  readonly area: WorldArea;
}

interface EventObject extends KubeObject {
  readonly involvedObject: { readonly kind: string; readonly name: string };
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
}

/** Reads the Applications of a world, by name, with their objects in the namespaces. */
export async function readWorld(
  { api, applications }: WorldSide,
  names: readonly string[],
): Promise<ReadonlyMap<string, AppReading>> {
  const lists = Object.entries(itemPaths).map(async ([kind, [group, resource]]) => {
    const items = await api.list<KubeObject>(`/${group}/${resource}`);
    return items.map((object) => ({ ...object, kind }));
  });
  const objects = (await Promise.all(lists)).flat();
  const events = await api.list<EventObject>(`/api/v1/namespaces/${argoNamespace}/events`);
  const read = (name: string): AppReading => {
    const own = objects.filter(({ metadata }) => metadata.name?.startsWith(`${name}-`));
    const about = events.filter(({ involvedObject }) => involvedObject.name === name);
    return readingOf(applications.states.get(name), own, about);
  };
  return new Map(names.map((name) => [name, read(name)]));
}

function readingOf(
  application: KubeObject | undefined,
  objects: readonly KubeObject[],
  events: readonly EventObject[],
): AppReading {
  const { status = {}, ...rest } = (application ?? {}) as unknown as JsonObject;
  const { operationState = null, conditions = [], resources = [], ...others } = status as JsonObject;
  const found = objects.map((object) => [`${object.kind} ${object.metadata.name ?? ''}`, objectOf(object)] as const);
  return {
    objects: Object.fromEntries(found),
    application: withoutEmpty(applicationOf(normalOf(omit(rest, 'apiVersion', 'kind')))),
    status: withoutEmpty(normalOf(others)),
    operation: withoutEmpty(operationOf(normalOf(operationState))),
    conditions: sorted(normalOf(conditions)),
    resources: byKey(normalOf(resources)),
    events: eventsOf(events),
  };
}

function isEmpty(value: Json): boolean {
  return value === '' || value === false || value === 0 || (isObject(value) && Object.keys(value).length === 0);
}

/** Go reads members that are absent and empty ones alike, and which of them are written varies. */
function withoutEmpty(value: Json): Json {
  if (isList(value)) return value.map(withoutEmpty);
  if (!isObject(value)) return value;
  const members = Object.entries(value)
    .map(([name, member]) => [name, withoutEmpty(member as Json)] as const)
    .filter(([, member]) => !isEmpty(member));
  return Object.fromEntries(members);
}

/** An object without its status, which the double writes in its own time. */
function objectOf(object: KubeObject): Json {
  return normalOf(omit(object as unknown as JsonObject, 'status', 'apiVersion', 'kind'));
}

function operationOf(state: Json): Json {
  if (!isObject(state)) return state;
  const { syncResult, operation, ...others } = state;
  const rest: JsonObject = {
    ...others,
    ...(operation === undefined ? {} : { operation: withSortedSelection(operation) }),
  };
  if (!isObject(syncResult)) return { ...rest, ...(syncResult === undefined ? {} : { syncResult }) };
  const { resources = [], ...result } = syncResult;
  return { ...rest, syncResult: { ...result, resources: byKey(resources) } };
}

/** The order of selected resources has no meaning. */
function withSortedSelection(operation: Json): Json {
  if (!isObject(operation) || !isObject(operation['sync'])) return operation;
  const { resources, ...sync } = operation['sync'];
  return resources === undefined ? operation : { ...operation, sync: { ...sync, resources: sorted(resources) } };
}

function applicationOf(object: Json): Json {
  if (!isObject(object) || object['operation'] === undefined) return object;
  return { ...object, operation: withSortedSelection(object['operation']) };
}

/** Rows of resources by kind, name and hook. */
function byKey(rows: Json): Json {
  if (!isList(rows)) return rows;
  const keyed = rows.map((row) => {
    const { kind, name, hookType, syncPhase } = row as Record<string, string | undefined>;
    return [[kind, name, hookType, syncPhase].filter(Boolean).join(' '), row] as const;
  });
  return Object.fromEntries([...keyed].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function sorted(list: Json): Json {
  return isList(list) ? [...list].sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)) : list;
}

/**
 * Each Event once. Changes of sync and health are left out: how many intermediate states are
 * written depends on time, with either controller.
 */
function eventsOf(events: readonly EventObject[]): Json {
  const texts = events
    .filter(({ reason }) => reason !== 'ResourceUpdated')
    .map(({ type, reason, message }) => normalOf(`${type ?? ''} ${reason ?? ''}: ${message ?? ''}`) as string);
  return [...new Set(texts)].sort();
}

/** All differences of two worlds. */
export function compareReadings(
  theirs: ReadonlyMap<string, AppReading>,
  ours: ReadonlyMap<string, AppReading>,
): readonly WorldDifference[] {
  return [...theirs].flatMap(([app, reading]) =>
    (Object.keys(reading) as WorldArea[]).flatMap((area) =>
      differencesOf(reading[area], ours.get(app)?.[area]).map((difference) => ({ app, area, ...difference })),
    ),
  );
}
