/** @seconds 120 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { canonicalJson, isObject, mapLimit } from '#base';
import type { Json, JsonObject } from '#base';
import type { KubeClient } from '#kube';
import type { SyncMethod } from '../../controller/testing/index.ts';
import { isList } from './kinds/index.ts';
import { atomic, byName, ChangingKinds, listOf, text, versionWith } from './changing-kinds.ts';
import type { ChangingKind } from './changing-kinds.ts';
import { clientOf, startServers } from './support/index.ts';
import type { Servers } from './support/index.ts';
import { SyncedObject } from './synced-object.ts';

const { signal } = new AbortController();
/** How the object is applied before and after its definition changes. */
const ways: readonly (readonly [first: SyncMethod, then: SyncMethod])[] = [
  ['server', 'server'],
  ['client', 'client'],
  ['replace', 'replace'],
  ['client', 'server'],
  ['server', 'client'],
];

let world: Servers<'hub'>;
let client: KubeClient;
let kinds: ChangingKinds;

beforeAll(async () => {
  world = await startServers({ names: ['hub'] });
  client = clientOf(world.servers.hub);
  kinds = new ChangingKinds(client, world.servers.hub.api, signal);
  await world.servers.hub.api.create('/api/v1/namespaces', { metadata: { name: 'cases' } });
});
afterAll(async () => {
  await client.close();
  await world.close();
});

/** A change of `spec.list` in a definition, and of the manifest before the next apply. */
interface TypeChange {
  readonly from: object;
  readonly to: object;
  readonly before: JsonObject;
  readonly after: JsonObject;
  /** Fields that another manager adds between the two applies, if the type allows it. */
  readonly theirs?: JsonObject;
  /** Why the server refuses a server-side apply of one of the types. */
  readonly refusal?: RegExp;
  /** How the server shows the new type in the managed fields of an apply. */
  readonly shows: RegExp;
}

const set = { 'x-kubernetes-list-type': 'set' };
const texts = (type: object): object => ({ type: 'array', items: text, ...type });
const whole = { 'x-kubernetes-map-type': 'atomic' };
const named = (...names: readonly string[]): JsonObject => ({ list: names.map((name) => ({ name, value: name })) });
const numbered = (...names: readonly string[]): JsonObject => ({
  list: names.map((name) => ({ name, id: `${name}1`, value: name })),
});
const properties = { name: text, id: text, value: text };
const map = (type: object): object => ({ type: 'object', additionalProperties: text, ...type });
const struct = (type: object): object => ({ type: 'object', properties: { a: text, b: text, theirs: text }, ...type });
const free = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
const wholeItems = (type: object): object => ({
  type: 'array',
  items: { type: 'object', properties, ...whole },
  ...type,
});

const noObjectsInSets = /associative list without keys has an element that's a map type/;
const byDefault = 'by default';
const withDefault = { ...properties, id: { ...text, default: byDefault } };

const changes: Readonly<Record<string, TypeChange>> = {
  'an atomic list becomes a map list': {
    from: listOf(atomic),
    to: listOf(byName),
    before: named('a', 'b', 'c'),
    after: named('c', 'a'),
    theirs: named('theirs'),
    shows: /k:\{"name":"a"\}/,
  },
  'an atomic list becomes a map list, and an item loses a member': {
    from: listOf({}),
    to: listOf(byName),
    before: named('a', 'b'),
    after: { list: [{ name: 'a' }, { name: 'b', value: 'b' }] },
    theirs: named('theirs'),
    shows: /k:\{"name":"a"\}/,
  },
  'an atomic list becomes a set': {
    from: texts(atomic),
    to: texts(set),
    before: { list: ['a', 'b'] },
    after: { list: ['a'] },
    theirs: { list: ['theirs'] },
    shows: /v:"a"/,
  },
  'a map list becomes atomic': {
    from: listOf(byName),
    to: listOf(atomic),
    before: named('a', 'b'),
    after: named('a'),
    shows: /"f:list":\{\}/,
  },
  'a set becomes atomic': {
    from: texts(set),
    to: texts(atomic),
    before: { list: ['a', 'b'] },
    after: { list: ['a'] },
    shows: /"f:list":\{\}/,
  },
  'a set becomes a map list': {
    from: wholeItems(set),
    to: listOf(byName),
    before: named('a', 'b'),
    after: named('a'),
    refusal: noObjectsInSets,
    shows: /k:\{"name":"a"\}/,
  },
  'a map list becomes a set': {
    from: listOf(byName),
    to: wholeItems(set),
    before: named('a', 'b'),
    after: named('a'),
    refusal: noObjectsInSets,
    shows: /^/,
  },
  'a map list gets another key': {
    from: listOf(byName, properties),
    to: listOf({ ...byName, 'x-kubernetes-list-map-keys': ['id'] }, properties, ['name', 'id']),
    before: numbered('a', 'b'),
    after: numbered('a'),
    theirs: numbered('theirs'),
    shows: /k:\{"id":"a1"\}/,
  },
  'a map list gets a second key with a default': {
    from: listOf(byName, withDefault),
    to: listOf({ ...byName, 'x-kubernetes-list-map-keys': ['name', 'id'] }, withDefault),
    before: named('a', 'b'),
    after: named('a'),
    theirs: named('theirs'),
    shows: /k:\{"id":"by default","name":"a"\}/,
  },
  'an atomic struct becomes granular': {
    from: struct(whole),
    to: struct({}),
    before: { list: { a: '1', b: '2' } },
    after: { list: { a: '1' } },
    theirs: { list: { theirs: '3' } },
    shows: /"f:a":\{\}/,
  },
  'an atomic map becomes granular': {
    from: map(whole),
    to: map({ 'x-kubernetes-map-type': 'granular' }),
    before: { list: { a: '1', b: '2' } },
    after: { list: { a: '3' } },
    theirs: { list: { theirs: '3' } },
    shows: /"f:a":\{\}/,
  },
  'a map becomes atomic': {
    from: map({}),
    to: map(whole),
    before: { list: { a: '1', b: '2' } },
    after: { list: { a: '1' } },
    shows: /"f:list":\{\}/,
  },
  'a free form becomes a struct with a map list': {
    from: free,
    to: { type: 'object', properties: { items: listOf(byName), a: text, b: text, theirs: text } },
    before: { list: { items: [{ name: 'a' }, { name: 'b' }], a: '1', b: '2' } },
    after: { list: { items: [{ name: 'a' }], a: '1' } },
    theirs: { list: { items: [{ name: 'theirs' }], theirs: '3' } },
    shows: /k:\{"name":"a"\}/,
  },
  'a struct becomes a map': {
    from: { type: 'object', properties: { a: struct({}), b: struct({}) } },
    to: { type: 'object', additionalProperties: struct({}) },
    before: { list: { a: { a: '1' }, b: { a: '1', b: '1' } } },
    after: { list: { a: { a: '1' } } },
    theirs: { list: { theirs: { a: '1' } } },
    shows: /"f:a":\{"\.":\{\},"f:a"/,
  },
  'a struct becomes a free form': {
    from: { type: 'object', properties: { items: listOf(byName), a: struct({}), b: struct({}) } },
    to: free,
    before: { list: { items: [{ name: 'a' }, { name: 'b' }], a: { a: '1' }, b: { a: '1' } } },
    after: { list: { items: [{ name: 'a' }], a: { a: '1' } } },
    theirs: { list: { theirs: { a: '1' } } },
    shows: /"f:items":\{\}/,
  },
};

/** The parts of both; of lists only where they are merged. */
function merged(ours: Json, theirs: Json, mergesLists: boolean): Json {
  if (isList(ours) && isList(theirs)) return mergesLists ? [...ours, ...theirs] : ours;
  if (!isObject(ours) || !isObject(theirs)) return ours;
  const keys = [...new Set([...Object.keys(ours), ...Object.keys(theirs)])];
  const member = (key: string): Json =>
    ours[key] === undefined ? (theirs[key] ?? null) : merged(ours[key], theirs[key] ?? null, mergesLists);
  return Object.fromEntries(keys.map((key) => [key, member(key)]));
}

/** Without defaults. Only a server-side apply orders the items of others among ours. */
function inAnyOrder(value: Json | undefined): Json {
  if (isList(value)) return value.map(inAnyOrder).toSorted((a, b) => (canonicalJson(a) < canonicalJson(b) ? -1 : 1));
  if (!isObject(value)) return value ?? null;
  const sent = Object.entries(value).filter(([, member]) => member !== byDefault);
  return Object.fromEntries(sent.map(([key, member]) => [key, inAnyOrder(member)]));
}

/** An object whose definition has changed since it was applied. */
async function changedSince(change: TypeChange, [first, then]: (typeof ways)[number]): Promise<ChangedObject> {
  const kind = await kinds.define([versionWith('v1', true, { list: change.from })]);
  const one = await SyncedObject.begin(client, then, signal);
  await one.first(first, kind.manifest(change.before));
  const schemas = await kind.reshape({ list: change.to }, async () => {
    if (change.refusal !== undefined) return true;
    const stored = await one.patch('probe', { spec: change.before }, 'apply', true);
    const probe = stored.metadata.managedFields?.find(({ manager }) => manager === 'probe');
    return change.shows.test(JSON.stringify(probe?.['fieldsV1']).replaceAll('\\"', '"'));
  });
  await one.describe(schemas);
  await one.read();
  return { kind, one };
}

interface ChangedObject {
  readonly kind: ChangingKind;
  readonly one: SyncedObject;
}

const hows = ['alone', 'beside parts of others'] as const;
const cases = Object.entries(changes).flatMap(([title, change]) =>
  hows.flatMap((how) => (how === 'alone' || change.theirs !== undefined ? [[title, how, change] as const] : [])),
);

describe.each(ways)('applied with %s, then with %s', (first, then) => {
  const prepared = new Map<string, Promise<ChangedObject>>();
  // Several at a time, because the server publishes a changed schema some seconds later.
  beforeAll(async () => {
    await mapLimit(cases, 5, async ([title, how, change]) => {
      const made = changedSince(change, [first, then]);
      prepared.set(`${title} ${how}`, made);
      // The test that awaits it reports its failure.
      await made.catch(() => undefined);
    });
  }, 240_000);

  it.each(cases)('%s, and the object loses what Git drops: %s', async (title, how, change) => {
    const { after, theirs = {}, refusal } = change;
    const isRefused = refusal !== undefined && [first, then].includes('server');
    if (isRefused && first === 'server' && title.startsWith('a set')) {
      await expect(prepared.get(`${title} ${how}`)).rejects.toThrow(refusal);
      return;
    }
    const { kind, one } = (await prepared.get(`${title} ${how}`))!;
    if (isRefused && then === 'server' && !title.startsWith('a set')) {
      expect((await one.statuses(kind.manifest(after)))[0]).toBe('OutOfSync');
      await expect(one.sync(kind.manifest(after))).rejects.toThrow(refusal);
      return;
    }
    const isShared = how !== 'alone';
    if (isShared) await one.patch('operator', { spec: theirs }, 'apply');
    const stored = (await one.changed(kind.manifest(after)))['spec'];
    const keepsOthers = isShared && then !== 'replace';
    const expected = keepsOthers ? merged(after, theirs, then === 'server') : after;
    expect(inAnyOrder(stored as Json)).toEqual(inAnyOrder(expected));
    // Nothing is left to send, and nothing to migrate.
    const { resourceVersion } = one.live.metadata;
    expect((await one.sync(kind.manifest(after))).metadata.resourceVersion).toBe(resourceVersion);
  });
});
