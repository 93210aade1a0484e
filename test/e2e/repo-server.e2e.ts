import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { omit, systemClock, systemRandom } from '#base';
import {
  createDesiredSource,
  createInProcessRenderer,
  createInProcessRunner,
  createRemoteSource,
  createToolLookup,
  programsFrom,
  SourceFailed,
} from '#desired';
import type { DesiredSource, Manifests } from '#desired';
import { silentLogger } from '#telemetry';
import { brokenCases, differingCases, goodCases, onlyOurs } from './corpus/index.ts';
import type { CorpusCase } from './corpus/index.ts';
import { startPlaces } from './corpus/places.ts';
import type { SourceServers } from './corpus/places.ts';
import { requestOf } from './corpus/requests.ts';
import { startRepoServer } from './support/repo-server.ts';
import type { RepoServer } from './support/repo-server.ts';
import { temporaryFolder, toolsPath } from './support/index.ts';

// Renders one corpus twice: with the embedded renderer and with Argo CD's own repo-server, using
// the same helm, kustomize and git.

const signal = new AbortController().signal;
let folder: ReturnType<typeof temporaryFolder>;
let places: SourceServers;
let server: RepoServer;
let embedded: DesiredSource;
let remote: DesiredSource;

beforeAll(async () => {
  folder = temporaryFolder('repo-server');
  places = await startPlaces(folder.path, [...goodCases, ...brokenCases, ...differingCases, ...onlyOurs]);
  const { sshData, tlsData } = places;
  server = await startRepoServer({ folder: folder.path, sshData, tlsData });
  const path = toolsPath();
  const commands = createInProcessRunner({ clock: systemClock, env: { ...process.env, PATH: path } });
  embedded = createDesiredSource({
    clock: systemClock,
    reach: { allowLocal: true },
    random: systemRandom,
    logger: silentLogger,
    commands,
    cacheDir: join(folder.path, 'cache'),
    renderer: createInProcessRenderer({
      commands,
      programs: programsFrom(createToolLookup({ path })),
      folder: join(folder.path, 'render'),
      random: systemRandom,
    }),
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

/** The manifests without what only this process knows of them; or the error. */
async function outcome(desired: DesiredSource, one: CorpusCase): Promise<Manifests | { readonly problem: string }> {
  try {
    const { sources, ...rest } = await desired.manifests(requestOf(one, places), signal);
    return { ...rest, sources: sources.map((source) => omit(source, 'contentId', 'unnamed')) };
  } catch (error) {
    if (!(error instanceof SourceFailed)) throw error;
    return { problem: (error.cause as Error).message };
  }
}

describe('a source that renders', () => {
  it.each(goodCases)('$name: has equal objects, source type and revision', async (one) => {
    const own = await outcome(embedded, one);
    const theirs = await outcome(remote, one);
    expect(own).toEqual(theirs);
    const objects = 'sources' in theirs ? theirs.sources.flatMap((source) => source.objects) : [];
    expect(objects.length).toBeGreaterThanOrEqual(one.atLeast ?? 1);
  });
});

describe('a source that does not render', () => {
  it.each(brokenCases)('$name: leads to conditions with the same meaning', async (one) => {
    for (const desired of [embedded, remote])
      expect(await outcome(desired, one)).toEqual({ problem: expect.stringMatching(one.says) });
  });
});

describe('a documented difference of docs/compatibility.md', () => {
  it.each(differingCases)('$name', async (one) => {
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

describe('a source in which Argo CD finds nothing', () => {
  it.each(onlyOurs)('$name', async (one) => {
    const count = async (desired: DesiredSource): Promise<number> => {
      const made = await outcome(desired, one);
      return 'sources' in made ? made.sources.flatMap(({ objects }) => objects).length : -1;
    };
    expect([await count(embedded), await count(remote)]).toEqual([1, 0]);
  });
});
