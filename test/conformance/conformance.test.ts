import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { seededRandom, systemClock } from '#base';
import { startSimCluster } from '#sim';
import type { SimCluster } from '#sim';
import { ApiClient } from '#support';
import { knownDifferences } from './differences.ts';
import type { KnownDifference } from './differences.ts';
import { differences } from './normal.ts';
import type { AnswerDifference } from './normal.ts';
import { play } from './play.ts';
import { readRecording } from './recorded.ts';
import { groups } from './scenarios/index.ts';

/**
 * Compares the simulated API server with recorded answers of a real one. `npm run e2e --
 * conformance` compares the recordings with a real server, and updates them with `--record`.
 */
describe.each(Object.entries(groups))('the simulator answers as a real API server: %s', (group, scenarios) => {
  const recording = readRecording(group);
  let cluster: SimCluster;
  let api: ApiClient;

  beforeAll(async () => {
    cluster = await startSimCluster({
      name: 'conformance',
      clock: systemClock,
      random: seededRandom(1),
      workloads: { enabled: false, delayMs: 3_600_000 },
    });
    api = new ApiClient({ server: cluster.url });
  });
  afterAll(async () => {
    await api.close();
    await cluster.close();
  });

  it.each(scenarios.map((scenario) => [scenario.name, scenario] as const))('%s', async (name, scenario) => {
    const played = await play(scenario, api, async () => cluster.compact(0));
    const recorded = recording.scenarios[name] ?? [];
    const known = knownDifferences.filter((one) => one.group === group && one.scenario === name);
    const found = differences(recorded, played);
    const covers = ({ steps, at }: KnownDifference, { at: place }: AnswerDifference): boolean => {
      const [, index = '', ...rest] = place.split('/');
      return steps.includes(Number(index) + 1) && `/${rest.join('/')}`.startsWith(at);
    };
    // Each step of an entry must still differ.
    const isGone = (one: KnownDifference): boolean =>
      one.steps.some((step) => !found.some((difference) => covers({ ...one, steps: [step] }, difference)));
    const unknown = found.filter((difference) => !known.some((one) => covers(one, difference)));
    expect(
      unknown.map(({ at, expected, found: seen }) => ({
        step: played[Number(at.split('/')[1])]?.step,
        at,
        real: expected,
        simulated: seen,
      })),
    ).toEqual([]);
    // Entries without a difference must be removed from the list.
    expect(known.filter(isGone)).toEqual([]);
  });
});

describe('the list of known differences', () => {
  it('names existing scenarios and gives reasons', () => {
    const strays = knownDifferences.filter(
      ({ group, scenario, why }) => why.length < 20 || !(groups[group] ?? []).some(({ name }) => name === scenario),
    );
    expect(strays).toEqual([]);
  });
});
