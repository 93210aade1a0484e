import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { play } from '../conformance/play.ts';
import type { PlayedStep } from '../conformance/play.ts';
import { readRecording, writeRecording } from '../conformance/recorded.ts';
import { groups } from '../conformance/scenarios/index.ts';
import { startServers } from './support/index.ts';
import type { Server, Servers } from './support/index.ts';

/**
 * `npm run e2e -- conformance --record` records the answers; otherwise they must equal the
 * recording.
 */
const recording = process.env['DRIFTLESS_E2E_RECORD'] === 'true';

let world: Servers<'real'>;
let real: Server;
let version = '';

beforeAll(async () => {
  world = await startServers({ names: ['real'] });
  real = world.servers.real;
  version = (await real.api.get<{ gitVersion: string }>('/version'))?.gitVersion ?? '';
});
afterAll(() => world.close());

describe.each(Object.entries(groups))('a real API server answers as recorded: %s', (group, scenarios) => {
  const fresh: Record<string, readonly PlayedStep[]> = {};

  afterAll(() => {
    if (!recording) return;
    // Scenarios that did not run (-t, or a failure) keep their recorded answers.
    const names = scenarios.map(({ name }) => name);
    const known = names.every((name) => fresh[name] !== undefined) ? {} : readRecording(group).scenarios;
    const all = names.map((name) => [name, fresh[name] ?? known[name] ?? []] as const);
    writeRecording(group, { server: version, scenarios: Object.fromEntries(all) });
  });

  it.each(scenarios.map((scenario) => [scenario.name, scenario] as const))('%s', async (name, scenario) => {
    const played = await play(scenario, real.api, () => real.compact());
    fresh[name] = played;
    if (recording) return;
    const known = readRecording(group);
    expect({ server: version, played }).toEqual({ server: known.server, played: known.scenarios[name] });
  });
});
