import { expect, it } from '@jest/globals';
import { longSubjects } from '../scripts/commit-subjects.mjs';

it('a commit subject has at most 60 characters, without the hash', () => {
  const [good, long] = [`c0ffee12 ${'a'.repeat(60)}`, `decade12 ${'b'.repeat(61)}`];
  expect(longSubjects([good, long])).toEqual([long]);
});
