import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { defects } from './defects.mjs';

it('every deliberate defect still matches exactly one place in the code', () => {
  const lost = defects.filter(
    ({ file, from }) => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8').split(from).length !== 2,
  );
  expect(lost.map(({ name, file }) => `${name} (${file})`)).toEqual([]);
  expect(defects.length).toBeGreaterThanOrEqual(20);
});
