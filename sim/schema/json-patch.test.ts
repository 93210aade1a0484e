import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { deepEqual, formatPointer, isObject } from '#base';
import type { JsonObject } from '#base';
import { applyRfc6902Patch } from './json-patch.ts';

/** test/conformance/scenarios/patches.ts has the operations, and the errors of a real server. */
describe('JSON patch (RFC 6902)', () => {
  it('changes only the value at the path', () => {
    const objects = fc.dictionary(fc.string(), fc.oneof(fc.integer(), fc.dictionary(fc.string(), fc.integer())));
    fc.assert(
      fc.property(objects, fc.string(), fc.integer(), (object, key, value) => {
        const path = formatPointer([key]);
        const before = JSON.stringify(object);
        const added = applyRfc6902Patch(object, [{ op: 'add', path, value }]) as JsonObject;
        expect(isObject(added) && Object.hasOwn(added, key) && added[key] === value).toBe(true);
        const removed = applyRfc6902Patch(added, [{ op: 'remove', path }]);
        const rest = Object.fromEntries(Object.entries(object).filter(([name]) => name !== key));
        expect(deepEqual(removed, rest)).toBe(true);
        expect(JSON.stringify(object)).toBe(before);
      }),
    );
  });
});
