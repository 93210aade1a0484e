import { expect, it } from '@jest/globals';
import { apiVersionsOf } from './cluster-versions.ts';
import { wordsOf } from './options.ts';

it('wordsOf keeps empty texts and the places of all others', () => {
  expect(wordsOf({ list: ['a', '', 'b', null, 1] }, 'list')).toEqual(['a', '', 'b', '', '1']);
  expect([wordsOf({}, 'list'), wordsOf({ list: null }, 'list')]).toEqual([[], []]);
});

it('apiVersionsOf takes those of the cluster only without a list', () => {
  expect(apiVersionsOf([], ['v1'])).toEqual(['v1']);
  expect(apiVersionsOf([''], ['v1'])).toEqual([]);
  expect(apiVersionsOf(['a/v1,b/v1', ''], ['v1'])).toEqual(['a/v1', 'b/v1']);
});
