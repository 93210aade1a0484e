import { join } from 'node:path';
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
import type { CachePolicy, DesiredSource, Manifests } from '#desired';
import { silentLogger } from '#telemetry';
import type { CorpusCase } from '../corpus/index.ts';
import { startPlaces } from '../corpus/places.ts';
import { requestOf } from '../corpus/requests.ts';
import { temporaryFolder } from './processes.ts';
import { startRepoServer } from './repo-server.ts';
import { toolsPath } from './tools.ts';

/** The manifests without what only this process knows of them; or the error. */
export type RenderOutcome = Manifests | { readonly problem: string };

/** The embedded renderer and Argo CD's repo-server, with the same helm, kustomize and git. */
export interface BothSources {
  outcomes(one: CorpusCase): Promise<{ readonly own: RenderOutcome; readonly theirs: RenderOutcome }>;
  close(): Promise<void>;
}

const signal = new AbortController().signal;

/** Serves the files of the cases, and starts both. */
export async function startBothSources(
  name: string,
  cases: readonly CorpusCase[],
  manifests: CachePolicy['manifests'] = 'cached',
): Promise<BothSources> {
  const folder = temporaryFolder(name);
  const places = await startPlaces(folder.path, cases);
  const { sshData, tlsData } = places;
  const server = await startRepoServer({ folder: folder.path, sshData, tlsData });
  const path = toolsPath();
  const commands = createInProcessRunner({ clock: systemClock, env: { ...process.env, PATH: path } });
  const embedded = createDesiredSource({
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
  const remote = createRemoteSource({
    clock: systemClock,
    timeoutMs: 60_000,
    address: server.address,
    maxMessageBytes: 100 * 1024 * 1024,
    serviceConfigFromDns: false,
    userAgent: 'driftless-e2e',
  });
  const outcome = async (desired: DesiredSource, one: CorpusCase): Promise<RenderOutcome> => {
    const request = requestOf(one, places);
    try {
      const made = await desired.manifests({ ...request, cache: { ...request.cache, manifests } }, signal);
      const sources = made.sources.map((source) => omit(source, 'contentId', 'unnamed'));
      return { ...omit(made, 'sources'), sources };
    } catch (error) {
      if (!(error instanceof SourceFailed)) throw error;
      return { problem: (error.cause as Error).message };
    }
  };
  return {
    outcomes: async (one) => {
      const [own, theirs] = await Promise.all([outcome(embedded, one), outcome(remote, one)]);
      return { own, theirs };
    },
    close: async () => {
      await server.close();
      await places.close();
      folder.remove();
    },
  };
}
