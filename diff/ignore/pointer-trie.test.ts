import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { removeAt } from '#base';
import type { JsonObject, MutableJson } from '#base';
import { noMarks, removeMarked } from '../shared/removal.ts';
import { addPointer, emptyTrie, markPointers, removePointers } from './pointer-trie.ts';

describe('removePointers and markPointers', () => {
  const name = fc.constantFrom('a', 'b', 'c', '__proto__');
  const value = fc.letrec<{ json: MutableJson }>((tie) => ({
    json: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom('x', 1, null, true),
      fc.array(tie('json'), { maxLength: 2 }),
      fc.dictionary(name, tie('json'), { maxKeys: 3 }),
    ),
  })).json;
  const steps = fc.array(name, { minLength: 1, maxLength: 4 });

  it('remove and mark the same as each pointer alone', () => {
    fc.assert(
      fc.property(fc.dictionary(name, value, { maxKeys: 3 }), fc.array(steps, { maxLength: 6 }), (object, all) => {
        const trie = emptyTrie();
        for (const each of all) addPointer(trie, each);
        const one: MutableJson = structuredClone(object);
        for (const each of all) removeAt(one, each);
        const together = removePointers(object, trie);
        expect(together).toEqual(one);
        const marks = noMarks();
        markPointers(object, trie, marks);
        expect(removeMarked(object as JsonObject, marks)).toEqual(one);
      }),
    );
  });
});
