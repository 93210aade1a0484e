import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { applyMergePatch, createMergePatch, formatPointer, parsePointer, removeAt } from './json-patch.ts';
import { valueAt, cloneJson, deepEqual, setOwnMember } from './json.ts';
import type { Json, JsonObject, MutableJson, MutableJsonObject } from './json.ts';

const key = fc.oneof(fc.constantFrom('a', 'b', 'c', 'x/y', '~', '__proto__', '0'), fc.string({ maxLength: 3 }));
const objectOf = (members: readonly (readonly [string, Json])[]): JsonObject => {
  const result: MutableJsonObject = {};
  for (const [name, member] of members) setOwnMember(result, name, member as MutableJson);
  return result;
};
const build = (scalars: fc.Arbitrary<Json>): fc.Arbitrary<JsonObject> =>
  fc.letrec<{ object: JsonObject; value: Json }>((tie) => ({
    object: fc.array(fc.tuple(key, tie('value')), { maxLength: 4 }).map(objectOf),
    value: fc.oneof({ depthSize: 'small' }, scalars, fc.array(scalars, { maxLength: 3 }), tie('object')),
  })).object;
const scalar = fc.oneof(
  fc.boolean(),
  fc.integer({ min: 0, max: 3 }),
  fc.constantFrom('s', 't'),
  fc.constant(2n ** 60n),
);
const withoutNull = build(scalar);
const withNull = build(fc.oneof(scalar, fc.constant(null)));

const objectsIn = (value: Json | undefined): object[] =>
  typeof value === 'object' && value !== null ? [value, ...Object.values(value as JsonObject).flatMap(objectsIn)] : [];

describe('merge patch', () => {
  it('turns the first object into the second', () => {
    fc.assert(
      fc.property(withoutNull, withoutNull, (a, b) => {
        const before = cloneJson(a);
        const patch = createMergePatch(a, b);
        expect(patch === undefined).toBe(deepEqual(a, b));
        expect(deepEqual(applyMergePatch(a, patch ?? {}), b)).toBe(true);
        expect(deepEqual(a, before)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  it('is undefined for equal objects, and applying it twice changes nothing more', () => {
    fc.assert(
      fc.property(withNull, withNull, (a, patch) => {
        expect(createMergePatch(a, cloneJson(a))).toBeUndefined();
        const once = applyMergePatch(a, patch);
        expect(deepEqual(applyMergePatch(once, patch), once)).toBe(true);
      }),
    );
  });

  it('shares nothing with its arguments, and has no member of Object.prototype', () => {
    const [target, patch] = [
      { kept: { a: 1 }, both: { b: [2] } },
      { both: { c: [3] }, added: { d: {} } },
    ];
    const result = applyMergePatch(target, patch);
    const arguments_ = new Set([...objectsIn(target), ...objectsIn(patch)]);
    expect(objectsIn(result).filter((part) => arguments_.has(part))).toEqual([]);
    const hostile = JSON.parse('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}') as Json;
    expect(deepEqual(applyMergePatch({}, hostile), hostile)).toBe(true);
    expect(deepEqual(applyMergePatch(hostile, {}), hostile)).toBe(true);
    expect(applyMergePatch({ toString: 1 }, {})).toEqual({ toString: 1 });
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  it('contains only the differences', () => {
    const from = { metadata: { labels: { a: '1', b: '2' } }, list: [1, 2], same: { deep: true }, old: 1 };
    const to = { metadata: { labels: { a: '1', b: '3' } }, list: [1], same: { deep: true }, new: {} };
    expect(createMergePatch(from, to)).toEqual({ metadata: { labels: { b: '3' } }, list: [1], old: null, new: {} });
    expect(createMergePatch({ a: 1, b: undefined }, { a: 1 })).toBeUndefined();
  });

  // RFC 7386, appendix A
  it.each<[Json, Json, Json]>([
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [
      ['a', 'b'],
      ['c', 'd'],
      ['c', 'd'],
    ],
    [{ a: 'b' }, ['c'], ['c']],
    [{ a: 'foo' }, null, null],
    [{ a: 'foo' }, 'bar', 'bar'],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: 'b', c: null }, { a: 'b' }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ])('applies to %j the patch %j', (target, patch, result) => {
    expect(applyMergePatch(target, patch)).toEqual(result);
  });
});

describe('pointers', () => {
  it('survive parsing and formatting', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.string(), fc.constantFrom('~1', '~01', 'a/b', '~', '/', ''))), (steps) => {
        expect(parsePointer(formatPointer(steps))).toEqual(steps);
      }),
    );
    expect(formatPointer(['metadata', 'annotations', 'argocd.argoproj.io/refresh'])).toBe(
      '/metadata/annotations/argocd.argoproj.io~1refresh',
    );
    expect(parsePointer('')).toEqual([]);
    expect(parsePointer('/')).toEqual(['']);
    expect(parsePointer('spec')).toBeUndefined();
  });

  it('remove exactly their target', () => {
    const value = (): MutableJson => ({ a: [{ b: 1 }, 2, 3], c: null, __x: 1 });
    const cases: [string[], boolean, Json][] = [
      [['a', '0', 'b'], true, { a: [{}, 2, 3], c: null, __x: 1 }],
      [['a', '1'], true, { a: [{ b: 1 }, 3], c: null, __x: 1 }],
      [['c'], true, { a: [{ b: 1 }, 2, 3], __x: 1 }],
      ...[['a', '3'], ['a', '-'], ['a', '01'], ['a', '-1'], ['b'], ['toString'], ['c', 'd'], ['a', '5', 'b'], []].map(
        (steps): [string[], boolean, Json] => [steps, false, value()],
      ),
    ];
    for (const [steps, removed, left] of cases) {
      const root = value();
      expect([steps, removeAt(root, steps)]).toEqual([steps, removed]);
      expect(root).toEqual(left);
    }
  });

  it('leave nothing at the path of a removed value', () => {
    fc.assert(
      fc.property(withoutNull, (object) => {
        for (const step of Object.keys(object)) {
          const root = cloneJson(object) as MutableJsonObject;
          expect(removeAt(root, [step])).toBe(true);
          expect(valueAt(root, step)).toBeUndefined();
          expect(Object.keys(root)).toHaveLength(Object.keys(object).length - 1);
        }
      }),
    );
  });
});
