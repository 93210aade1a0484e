import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { defects } from './defects.mjs';

const seeds = JSON.parse(readFileSync(new URL('./defect-seeds.json', import.meta.url), 'utf8')) as Readonly<
  Record<string, number>
>;

it('every deliberate defect still matches exactly one place in the code', () => {
  const lost = defects.filter(
    ({ file, from }) => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8').split(from).length !== 2,
  );
  expect(lost.map(({ name, file }) => `${name} (${file})`)).toEqual([]);
});

it('deliberate defects have schedules that show them', () => {
  const names = defects.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  expect(Object.keys(seeds).filter((name) => !names.includes(name))).toEqual([]);
  expect(Object.keys(seeds).length).toBeGreaterThanOrEqual(37);
});
