import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { systemClock, systemRandom } from '#base';
import {
  createDesiredSource,
  createInProcessRunner,
  createRemoteSource,
  createToolLookup,
  SourceFailed,
} from '#desired';
import type { DesiredSource, Manifests } from '#desired';
import { silentLogger } from '#telemetry';
import { brokenCases, differingCases, goodCases } from './corpus/index.ts';
import type { CorpusCase } from './corpus/index.ts';
import { startPlaces } from './corpus/places.ts';
import type { Places } from './corpus/places.ts';
import { requestOf } from './corpus/requests.ts';
import { startRepoServer } from './support/repo-server.ts';
import type { RepoServer } from './support/repo-server.ts';
import { temporaryFolder, toolsPath } from './support/index.ts';

// One corpus, rendered twice: by the embedded way and by Argo CD's own repo-server, with the same helm, kustomize and git.

const signal = new AbortController().signal;
let folder: ReturnType<typeof temporaryFolder>;
let places: Places;
let server: RepoServer;
let embedded: DesiredSource;
let remote: DesiredSource;

beforeAll(async () => {
  folder = temporaryFolder('repo-server');
  places = await startPlaces(folder.path, [...goodCases, ...brokenCases, ...differingCases]);
  const { sshData, tlsData } = places;
  server = await startRepoServer({ folder: folder.path, sshData, tlsData });
  const path = toolsPath();
  embedded = createDesiredSource({
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
    commands: createInProcessRunner({ clock: systemClock, env: { ...process.env, PATH: path } }),
    cacheDir: join(folder.path, 'cache'),
    tools: createToolLookup({ path }),
    trust: { sshKnownHosts: join(sshData, 'ssh_known_hosts'), tlsCertificates: tlsData },
  });
  remote = createRemoteSource({
    clock: systemClock,
    timeoutMs: 60_000,
    address: server.address,
    maxMessageBytes: 100 * 1024 * 1024,
    serviceConfigFromDns: false,
    userAgent: 'driftless-e2e',
  });
});

afterAll(async () => {
  await server.close();
  await places.close();
  folder.remove();
});

/** The answer, or what is wrong with which source. */
async function outcome(desired: DesiredSource, one: CorpusCase): Promise<Manifests | { readonly problem: string }> {
  try {
    return await desired.manifests(requestOf(one, places), signal);
  } catch (error) {
    if (!(error instanceof SourceFailed)) throw error;
    return { problem: (error.cause as Error).message };
  }
}

describe('what renders', () => {
  it.each(goodCases)('10.4 10.e2e: $name: equal objects, kind and revision', async (one) => {
    const own = await outcome(embedded, one);
    const theirs = await outcome(remote, one);
    expect(own).toEqual(theirs);
    const objects = 'sources' in theirs ? theirs.sources.flatMap((source) => source.objects) : [];
    expect(objects.length).toBeGreaterThanOrEqual(one.atLeast ?? 1);
  });
});

describe('what does not', () => {
  it.each(brokenCases)('10.4 10.e2e: $name: conditions of one meaning', async (one) => {
    for (const desired of [embedded, remote])
      expect(await outcome(desired, one)).toEqual({ problem: expect.stringMatching(one.says) });
  });
});

describe('what docs/compatibility.md says that differs', () => {
  it.each(differingCases)('10.4 10.e2e: $name', async (one) => {
    for (const [desired, says] of [
      [embedded, one.own],
      [remote, one.theirs],
    ] as const) {
      const made = await outcome(desired, one);
      if (says === undefined) expect(made).toHaveProperty('sources');
      else expect(made).toEqual({ problem: expect.stringMatching(says) });
    }
  });
});
