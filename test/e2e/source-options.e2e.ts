/** @seconds 35 */
import { env } from 'node:process';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { optionLayouts, rootCase } from './source-options/layouts.ts';
import { runOptionMatrix } from './source-options/matrix.ts';
import { startBothSources } from './support/both-sources.ts';
import type { BothSources } from './support/both-sources.ts';

/** A fixed sample of all cases; `npm run sources` runs more. */
const limit = Number(env['DRIFTLESS_SOURCES_CASES'] ?? 120);
const seed = Number(env['DRIFTLESS_SEED'] ?? 1);
const from = Number(env['DRIFTLESS_SOURCES_FROM'] ?? 0);
const only = env['DRIFTLESS_SOURCES_ONLY'] ?? '';
const isVerbose = env['DRIFTLESS_SOURCES_VERBOSE'] === 'true';

let both: BothSources;

beforeAll(async () => {
  const layouts = optionLayouts().map(({ layout }) => layout);
  // Argo CD's cache of manifests does not know the build options: each case renders anew.
  both = await startBothSources('source-options', [...layouts, rootCase], 'rerender');
});
afterAll(() => both.close());

describe('the options of a source, for every layout of the corpus', () => {
  it("give the objects of Argo CD's repo-server, or are refused by both", async () => {
    const tally = await runOptionMatrix(both, { limit, seed, from, only, isVerbose });
    process.stdout.write(`source options\n${tally.text()}`);
    expect(tally.different).toEqual([]);
    expect(tally.count('equal')).toBeGreaterThan(only === '' ? (limit - from) / 2 : -1);
  }, 14_400_000);
});
