import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Json, JsonObject } from '#base';
import { readOpenApi } from './open-api.ts';
import { emptySet, parseFields } from './field-set.ts';
import type { FieldSet } from './field-set.ts';
import { dropsParts, isOwnedAs, reshapedFields } from './reshape.ts';
import { schemaOf } from '../schema/schema.ts';
import { shapeOfType } from './shape.ts';
import type { OwnershipShape } from './shape.ts';

const text = { type: 'string' };
const item = { type: 'object', properties: { name: text, id: text, value: text } };
const keyed = (...keys: readonly string[]): object => ({
  type: 'array',
  items: item,
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': keys,
});
const setOf = (items: object): object => ({ type: 'array', items, 'x-kubernetes-list-type': 'set' });
const atomicList = { type: 'array', items: item };

function shapeOf(part: object): OwnershipShape {
  const kind = { group: 'x.io', version: 'v1', kind: 'Thing' };
  const schema = {
    type: 'object',
    properties: { part, other: text },
    'x-kubernetes-group-version-kind': [kind],
  };
  const found = readOpenApi({ components: { schemas: { thing: schema } } } as unknown as Json).get('x.io/v1 Thing');
  return found!.shape;
}

function asFields({ member, children }: FieldSet): Json {
  const own: Record<string, Json> = member && children.size > 0 ? { '.': {} } : {};
  for (const [step, child] of children) own[step] = asFields(child);
  return own;
}

interface Case {
  readonly part: object;
  readonly ours: JsonObject;
  readonly others?: JsonObject;
  readonly live: Json;
  readonly target: Json;
  readonly isBuiltIn?: boolean;
}

function after({ part, ours, others, live, target, isBuiltIn = false }: Case): Json {
  const owned = parseFields({ 'f:part': ours, 'f:other': {} });
  const sides = {
    live: { part: live, other: 'x' },
    target: { part: target, other: 'x' },
    shape: shapeOf(part),
    isBuiltIn,
  };
  const set = reshapedFields(owned, () => parseFields(others === undefined ? {} : { 'f:part': others }), sides);
  if (set === owned) return 'the same';
  return (asFields(set) as JsonObject)['f:part'] ?? null;
}

const [a, b] = ['a', 'b'].map((name) => ({ name, id: `${name}1`, value: 'x' }));
const owned = { '.': {}, 'f:name': {}, 'f:id': {}, 'f:value': {} };

describe('the fields that the current schema says were ours', () => {
  it('are all items of a list that was atomic', () => {
    const one = { part: keyed('name'), ours: {}, live: [a!, b!] };
    const both = { 'k:{"name":"a"}': owned, 'k:{"name":"b"}': owned };
    expect(after({ ...one, target: [a!] })).toEqual(both);
    expect(after({ ...one, target: [] })).toEqual(both);
    expect(after({ part: setOf(text), ours: {}, live: ['a', 'b'], target: ['a'] })).toEqual({
      'v:"a"': {},
      'v:"b"': {},
    });
  });

  it('contain nothing that others own, in the current form or in another', () => {
    const one = { part: keyed('name'), ours: {}, live: [a!, b!], target: [a!] };
    const first = { 'k:{"name":"a"}': owned };
    expect(after({ ...one, others: { 'k:{"name":"b"}': owned } })).toEqual(first);
    expect(after({ ...one, others: { 'k:{"id":"b1"}': owned } })).toEqual(first);
    expect(after({ ...one, others: { 'v:{"id":"b1","name":"b","value":"x"}': {} } })).toEqual(first);
    const value = { 'k:{"name":"b"}': { 'f:value': {} } };
    expect(after({ ...one, others: value })).toEqual({
      ...first,
      'k:{"name":"b"}': { '.': {}, 'f:name': {}, 'f:id': {} },
    });
    // Another owner of the whole list.
    expect(after({ ...one, others: {} })).toBe(null);
  });

  it('have the current keys of a list', () => {
    const names = { 'k:{"name":"a"}': owned, 'k:{"name":"b"}': owned };
    const one = { live: [a!, b!], target: [a!], ours: names };
    expect(after({ ...one, part: keyed('id') })).toEqual({ 'k:{"id":"a1"}': owned, 'k:{"id":"b1"}': owned });
    expect(after({ ...one, part: keyed('name', 'id') })).toEqual({
      'k:{"id":"a1","name":"a"}': owned,
      'k:{"id":"b1","name":"b"}': owned,
    });
    expect(after({ ...one, part: keyed('id'), others: { 'k:{"name":"b"}': owned } })).toEqual({
      'k:{"id":"a1"}': owned,
    });
    expect(after({ ...one, part: setOf({ ...item, 'x-kubernetes-map-type': 'atomic' }) })).toEqual({
      'v:{"id":"a1","name":"a","value":"x"}': {},
      'v:{"id":"b1","name":"b","value":"x"}': {},
    });
    const values = { 'v:{"id":"a1","name":"a","value":"x"}': {}, 'v:{"id":"gone"}': {} };
    expect(after({ ...one, part: keyed('name'), ours: values })).toEqual({
      'k:{"name":"a"}': owned,
      'v:{"id":"gone"}': {},
    });
  });

  it('are the members of a map that was atomic, if nobody owns one that is applied', () => {
    const part = { type: 'object', properties: { a: text, b: text, c: text } };
    const one = { part, ours: {}, live: { a: '1', b: '2' } };
    expect(after({ ...one, target: { a: '1' } })).toEqual({ 'f:a': {}, 'f:b': {} });
    expect(after({ ...one, target: { a: '3' }, others: { 'f:b': {} } })).toEqual({ 'f:a': {} });
    expect(after({ ...one, target: { a: '1' }, isBuiltIn: true })).toBe('the same');
    // Another owner of the whole map.
    expect(after({ ...one, target: { a: '1' }, others: {} })).toBe(null);
    // Perhaps the map was applied empty, and a webhook or another manager filled it.
    for (const target of [{}, { c: '1' }, 'x', null]) expect(after({ ...one, target })).toBe('the same');
    expect(after({ ...one, target: { a: '1' }, others: { 'f:a': {} } })).toBe('the same');
  });

  it('are keys of a map that was a struct', () => {
    const part = { type: 'object', additionalProperties: { type: 'object', properties: { a: text } } };
    const one = { part, ours: { 'f:x': { 'f:a': {} } }, target: {} };
    expect(after({ ...one, live: { x: { a: '1' } } })).toEqual({ 'f:x': { '.': {}, 'f:a': {} } });
    expect(after({ ...one, live: { x: { a: '1' } }, others: { 'f:x': { '.': {}, 'f:b': {} } } })).toEqual({
      'f:x': { 'f:a': {} },
    });
    expect(after({ ...one, part: { type: 'object', properties: { x: part } }, live: { x: { a: '1' } } })).toBe(
      'the same',
    );
    const kept = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
    expect(after({ ...one, part: kept, live: { x: { a: '1' } } })).toEqual({ 'f:x': { '.': {}, 'f:a': {} } });
  });

  it('stay the same where the type does', () => {
    const names = { 'k:{"name":"a"}': owned, 'k:{"name":"b"}': owned };
    const one = { live: [a!, b!], target: [a!] };
    expect(after({ ...one, part: keyed('name'), ours: names })).toBe('the same');
    expect(after({ ...one, part: atomicList, ours: {} })).toBe('the same');
    expect(after({ ...one, part: atomicList, ours: names })).toBe('the same');
    expect(after({ part: keyed('name'), ours: {}, live: [], target: [a!] })).toBe('the same');
    expect(after({ part: keyed('name'), ours: {}, live: [a!], target: null })).toBe('the same');
    const whole = { type: 'object', properties: { a: text }, 'x-kubernetes-map-type': 'atomic' };
    expect(after({ part: whole, ours: {}, live: { a: '1', b: '2' }, target: { a: '1' } })).toBe('the same');
  });

  it('reach into items and members that stay', () => {
    const inner = { type: 'object', properties: { name: text, list: keyed('name') } };
    const part = { ...keyed('name'), items: inner };
    const ours = { 'k:{"name":"a"}': { '.': {}, 'f:name': {}, 'f:list': {} } };
    const one = { part, ours, target: [{ name: 'a', list: [] }], live: [{ name: 'a', list: [b!] }] };
    expect(after(one)).toEqual({
      'k:{"name":"a"}': { '.': {}, 'f:name': {}, 'f:list': { 'k:{"name":"b"}': owned } },
    });
    const others = { 'k:{"name":"a"}': { 'f:list': { 'k:{"name":"b"}': owned } } };
    expect(after({ ...one, others })).toEqual({ 'k:{"name":"a"}': { '.': {}, 'f:name': {} } });
  });
});

describe('an entry that owns lists and maps as the built-in type does', () => {
  const shape = shapeOfType(schemaOf({ apiVersion: 'v1', kind: 'Pod' }));
  const pick = <T>(list: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...list);
  const ports = ['k:{"containerPort":80,"protocol":"TCP"}', 'k:{"containerPort":80}', 'k:{"name":"web"}', 'v:"web"'];
  const port = fc.record({ containerPort: pick([80, 81]), name: pick(['web', 'api']), protocol: pick(['TCP', 'UDP']) });
  const fieldsOf = (steps: readonly string[]): fc.Arbitrary<JsonObject> =>
    fc.dictionary(pick([...steps, '.', 'k:{']), fc.constant({}), { maxKeys: 3 });
  const container = fc.dictionary(pick(['.', 'f:name', 'f:image']), fc.constant({}), { maxKeys: 3 });
  const spec = fc.record(
    {
      'f:containers': fc.dictionary(
        pick(['k:{"name":"a"}', 'k:{"name":"b"}', 'v:"a"', '.']),
        fc.tuple(container, fieldsOf(ports)).map(([own, list]): JsonObject => ({ ...own, 'f:ports': list })),
        { maxKeys: 2 },
      ),
      'f:nodeSelector': fieldsOf(['f:zone', 'f:disk']),
      'f:finalizers': fieldsOf(['v:"a"']),
    },
    { requiredKeys: [] },
  );
  const pod = fc.record({
    containers: fc.array(fc.record({ name: pick(['a', 'b']), ports: fc.array(port, { maxLength: 2 }) }), {
      maxLength: 2,
    }),
    nodeSelector: fc.dictionary(pick(['zone', 'disk']), fc.constant('x')),
  });

  it('is never reshaped, whatever the objects hold', () => {
    let found = 0;
    fc.assert(
      fc.property(spec, pod, pod, (owned, live, target) => {
        const fields = { 'f:spec': owned } as JsonObject;
        if (!isOwnedAs(shape, fields)) return;
        found += 1;
        const ours = parseFields(fields);
        const sides = { live: { spec: live }, target: { spec: target }, shape, isBuiltIn: true };
        expect(reshapedFields(ours, () => emptySet(), sides)).toEqual(ours);
      }),
      { numRuns: 2000 },
    );
    expect(found).toBeGreaterThan(100);
  });
});

describe('whether an apply drops parts of lists and maps', () => {
  const drops = (ours: JsonObject, live: Json, target: Json): boolean =>
    dropsParts(parseFields(ours), { part: live }, { part: target });

  it('needs no schema', () => {
    const names = { 'f:part': { 'k:{"name":"a"}': owned, 'k:{"name":"b"}': owned } };
    expect(drops({ 'f:part': {} }, [a!, b!], [a!])).toBe(true);
    expect(drops({ 'f:part': {} }, [a!], [a!])).toBe(false);
    expect(drops({ 'f:part': {} }, [], [a!])).toBe(false);
    expect(drops(names, [a!, b!], [a!])).toBe(true);
    expect(drops(names, [a!, b!], [b!, a!])).toBe(false);
    expect(drops(names, [a!], [a!])).toBe(false);
    expect(drops(names, [a!, b!], null)).toBe(false);
    expect(drops({ 'f:part': { 'v:"a"': {}, 'v:"b"': {} } }, ['a', 'b'], ['b'])).toBe(true);
    expect(drops({ 'f:part': {} }, { a: '1', b: '2' }, { a: '1' })).toBe(true);
    expect(drops({ 'f:part': {} }, { a: '1' }, { a: '1' })).toBe(false);
    expect(drops({ 'f:part': {} }, { a: '1' }, {})).toBe(false);
    expect(drops({ 'f:part': {} }, 'x', 'y')).toBe(false);
    const nested = { 'f:part': { 'k:{"name":"a"}': { '.': {}, 'f:list': {} } } };
    expect(drops(nested, [{ name: 'a', list: [1] }], [{ name: 'a', list: [2] }])).toBe(true);
    expect(dropsParts(emptySet(), {}, {})).toBe(false);
    // A field of a struct may be a key of a map now; what is a key already, the server removes.
    expect(drops({ 'f:part': { 'f:x': { 'f:a': {} } } }, { x: { a: '1' } }, {})).toBe(true);
    expect(drops({ 'f:part': { 'f:x': { '.': {}, 'f:a': {} } } }, { x: { a: '1' } }, {})).toBe(false);
  });
});
