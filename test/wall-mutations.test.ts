import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { wallMutations } from '../scripts/wall-mutations.mjs';

it('every mutation of the walls still matches exactly one place in the code', () => {
  const lost = wallMutations.filter(
    ({ file, from }) => readFileSync(new URL(`../${file}`, import.meta.url), 'utf8').split(from).length !== 2,
  );
  expect(lost.map(({ name, file }) => `${name} (${file})`)).toEqual([]);
  expect(wallMutations.length).toBeGreaterThanOrEqual(5);
});
