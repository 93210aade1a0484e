import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { mutations } from './testing/mutations.mjs';

it('every mutation still matches exactly one place in the code', () => {
  const lost = mutations.filter(
    ({ file, from }) => readFileSync(new URL(file, import.meta.url), 'utf8').split(from).length !== 2,
  );
  expect(lost.map(({ name, file }) => `${name} (${file})`)).toEqual([]);
  expect(mutations.length).toBeGreaterThanOrEqual(40);
});
