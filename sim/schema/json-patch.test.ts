import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { deepEqual, formatPointer, isObject } from '#base';
import type { Json, JsonObject } from '#base';
import { applyRfc6902Patch, PatchError } from './json-patch.ts';

const document = { a: { b: 1, 'x/y~z': 2 }, list: ['p', 'q', 'r'], n: null };

describe('JSON patch (RFC 6902)', () => {
  it.each<[string, Json[], Json]>([
    ['add a member', [{ op: 'add', path: '/a/c', value: 3 }], { ...document, a: { b: 1, 'x/y~z': 2, c: 3 } }],
    ['add over a member', [{ op: 'add', path: '/a', value: 3 }], { ...document, a: 3 }],
    ['add an item', [{ op: 'add', path: '/list/1', value: 'x' }], { ...document, list: ['p', 'x', 'q', 'r'] }],
    ['append', [{ op: 'add', path: '/list/-', value: 'x' }], { ...document, list: ['p', 'q', 'r', 'x'] }],
    ['append by index', [{ op: 'add', path: '/list/3', value: 'x' }], { ...document, list: ['p', 'q', 'r', 'x'] }],
    ['the whole document', [{ op: 'add', path: '', value: { z: 1 } }], { z: 1 }],
    ['remove a member', [{ op: 'remove', path: '/a/b' }], { ...document, a: { 'x/y~z': 2 } }],
    ['remove an item', [{ op: 'remove', path: '/list/0' }], { ...document, list: ['q', 'r'] }],
    ['remove from the end', [{ op: 'remove', path: '/list/-1' }], { ...document, list: ['p', 'q'] }],
    ['replace', [{ op: 'replace', path: '/list/2', value: 'x' }], { ...document, list: ['p', 'q', 'x'] }],
    ['escaped names', [{ op: 'replace', path: '/a/x~1y~0z', value: 5 }], { ...document, a: { b: 1, 'x/y~z': 5 } }],
    ['move', [{ op: 'move', from: '/a/b', path: '/c' }], { ...document, a: { 'x/y~z': 2 }, c: 1 }],
    ['move within a list', [{ op: 'move', from: '/list/0', path: '/list/2' }], { ...document, list: ['q', 'r', 'p'] }],
    ['copy', [{ op: 'copy', from: '/list', path: '/c' }], { ...document, c: ['p', 'q', 'r'] }],
    ['test', [{ op: 'test', path: '/a/b', value: 1 }], document],
    ['test an absent member for null', [{ op: 'test', path: '/zzz', value: null }], document],
    [
      'several in order',
      [
        { op: 'add', path: '/c', value: {} },
        { op: 'add', path: '/c/d', value: 1 },
      ],
      { ...document, c: { d: 1 } },
    ],
    ['nothing', [], document],
  ])('%s', (_what, patch, expected) => {
    const before = JSON.stringify(document);
    expect(applyRfc6902Patch(document, patch)).toEqual(expected);
    expect(JSON.stringify(document)).toBe(before);
  });

  it.each<[string, Json, string]>([
    ['no list', { op: 'add' }, 'json: cannot unmarshal object into Go value of type jsonpatch.Patch'],
    ['unknown op', [{ op: 'eat', path: '/a' }], 'Unexpected kind: eat'],
    ['no op', [{ path: '/a' }], 'Unexpected kind: unknown'],
    [
      'add without parent',
      [{ op: 'add', path: '/x/y', value: 1 }],
      'add operation does not apply: doc is missing path: "/x/y": missing value',
    ],
    [
      'add far out',
      [{ op: 'add', path: '/list/9', value: 1 }],
      "error in add for path: '/list/9': Unable to access invalid index: 9: invalid index referenced",
    ],
    [
      'remove nothing',
      [{ op: 'remove', path: '/x' }],
      "error in remove for path: '/x': Unable to remove nonexistent key: x: missing value",
    ],
    [
      'remove far out',
      [{ op: 'remove', path: '/list/3' }],
      "error in remove for path: '/list/3': Unable to access invalid index: 3: invalid index referenced",
    ],
    [
      'index that is none',
      [{ op: 'replace', path: '/list/one', value: 1 }],
      "error in replace for path: '/list/one': value was not a proper array index: 'one': strconv.Atoi: parsing \"one\": invalid syntax",
    ],
    [
      'move from nowhere',
      [{ op: 'move', from: '/x', path: '/y' }],
      'move operation does not apply: doc is missing from path: /x: missing value',
    ],
    ['failed test', [{ op: 'test', path: '/a/b', value: 2 }], 'testing value /a/b failed: test failed'],
    ['no path', [{ op: 'add', value: 2 }], 'add operation failed to decode path: missing field'],
  ])('rejects: %s', (_what, patch, text) => {
    expect(() => applyRfc6902Patch(document, patch)).toThrow(new PatchError(text));
  });

  it('changes only the value at the path', () => {
    const objects = fc.dictionary(fc.string(), fc.oneof(fc.integer(), fc.dictionary(fc.string(), fc.integer())));
    fc.assert(
      fc.property(objects, fc.string(), fc.integer(), (object, key, value) => {
        const path = formatPointer([key]);
        const added = applyRfc6902Patch(object, [{ op: 'add', path, value }]) as JsonObject;
        expect(isObject(added) && Object.hasOwn(added, key) && added[key] === value).toBe(true);
        const removed = applyRfc6902Patch(added, [{ op: 'remove', path }]);
        const rest = Object.fromEntries(Object.entries(object).filter(([name]) => name !== key));
        expect(deepEqual(removed, rest)).toBe(true);
      }),
    );
  });
});
