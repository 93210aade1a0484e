import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { brokenCases, differingCases, goodCases, onlyOurs } from './corpus/index.ts';
import { startBothSources } from './support/both-sources.ts';
import type { BothSources, RenderOutcome } from './support/both-sources.ts';

// Renders one corpus twice: with the embedded renderer and with Argo CD's own repo-server, using
// the same helm, kustomize and git.

let both: BothSources;

beforeAll(async () => {
  both = await startBothSources('repo-server', [...goodCases, ...brokenCases, ...differingCases, ...onlyOurs]);
});

afterAll(() => both.close());

describe('a source that renders', () => {
  it.each(goodCases)('$name: has equal objects, source type and revision', async (one) => {
    const { own, theirs } = await both.outcomes(one);
    expect(own).toEqual(theirs);
    const objects = 'sources' in theirs ? theirs.sources.flatMap((source) => source.objects) : [];
    expect(objects.length).toBeGreaterThanOrEqual(one.atLeast ?? 1);
  });
});

describe('a source that does not render', () => {
  it.each(brokenCases)('$name: leads to conditions with the same meaning', async (one) => {
    const { own, theirs } = await both.outcomes(one);
    for (const made of [own, theirs]) expect(made).toEqual({ problem: expect.stringMatching(one.says) });
  });
});

describe('a documented difference of docs/compatibility.md', () => {
  it.each(differingCases)('$name', async (one) => {
    const { own, theirs } = await both.outcomes(one);
    for (const [made, says] of [
      [own, one.own],
      [theirs, one.theirs],
    ] as const) {
      if (says === undefined) expect(made).toHaveProperty('sources');
      else expect(made).toEqual({ problem: expect.stringMatching(says) });
    }
  });
});

describe('a source in which Argo CD finds nothing', () => {
  it.each(onlyOurs)('$name', async (one) => {
    const count = (made: RenderOutcome): number =>
      'sources' in made ? made.sources.flatMap(({ objects }) => objects).length : -1;
    const { own, theirs } = await both.outcomes(one);
    expect([count(own), count(theirs)]).toEqual([1, 0]);
  });
});
