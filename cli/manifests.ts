import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { formatYaml, messageOf, parseGoBool, Shutdown, systemClock, systemRandom, UsageError, withChild } from '#base';
import type { Json } from '#base';
import {
  azureWorkloadOf,
  createDesiredSource,
  createToolLookup,
  generatorOptions,
  pluginConfigOf,
  proxiesOf,
  SourceFailed,
  startCommandHelper,
} from '#desired';
import type { Capabilities, DesiredSource, GeneratorOptions } from '#desired';
import { bareRepository, sourcesOf } from '#model';
import type { ApplicationSource, KubeObject } from '#model';
import { parseSettings } from '#settings';
import { silentLogger } from '#telemetry';
import { describe, readArgs } from './args.ts';
import type { CommandContext } from './command.ts';
import { readObjects } from './files.ts';
import type { Output } from './output.ts';
import { help } from './common-options.ts';

const options = {
  file: { flag: 'filename', short: 'f', kind: 'string', default: '', help: 'An Application; - for standard input.' },
  repo: { flag: 'repo', kind: 'string', default: '', help: 'URL of a repository, instead of an Application.' },
  path: { flag: 'path', kind: 'string', default: '.', help: 'Directory in it.' },
  revision: { flag: 'revision', kind: 'string', default: '', help: 'Branch, tag or commit; HEAD when empty.' },
  recurse: { flag: 'recurse', kind: 'bool', default: false, help: 'Read subdirectories too.' },
  name: { flag: 'name', kind: 'string', default: 'driftless', help: 'Name of the application, with --repo.' },
  kubeVersion: { flag: 'kube-version', kind: 'string', default: '', help: 'Kubernetes version of the destination.' },
  apiVersions: {
    flag: 'api-versions',
    kind: 'string',
    default: '',
    help: 'What the destination serves, for charts that ask: v1,apps/v1/Deployment.',
  },
  settings: { flag: 'argocd-cm', kind: 'string', default: '', help: 'ConfigMap argocd-cm, for build options.' },
  help,
} as const;

/** `driftless manifests`: what a source renders to, as YAML documents. */
export async function manifests({ argv, env, output, signal }: CommandContext): Promise<number> {
  const { config } = readArgs(options, argv, env);
  if (config.help) {
    output.out(
      `usage: driftless manifests (-f APPLICATION.yaml | --repo URL --path P --revision R)\n\n${describe(options)}`,
    );
    return 0;
  }
  const wanted = {
    ...(config.file === '' ? fromFlags(config) : fromApplication(config.file)),
    ...surroundings(config),
  };
  const cacheDir = mkdtempSync(join(tmpdir(), 'driftless-manifests-'));
  const helper = startCommandHelper({ logger: silentLogger, env });
  try {
    await withChild(signal, async (inner, stop) => {
      const running = helper.run(inner);
      const desired = createDesiredSource({
        clock: systemClock,
        random: systemRandom,
        logger: silentLogger,
        cacheDir,
        commands: helper,
        tools: createToolLookup({ path: env['PATH'] }),
        proxies: proxiesOf(env),
        plugins: pluginConfigOf(env),
        azureWorkload: azureWorkloadOf(env),
        submodules: parseGoBool(env['ARGOCD_GIT_MODULES_ENABLED'] ?? '') !== false,
      });
      try {
        print(output, await rendered(desired, wanted, inner));
      } finally {
        stop(new Shutdown('done'));
        await running.catch(() => undefined);
      }
    });
  } finally {
    rmSync(cacheDir, { recursive: true, force: true });
  }
  return 0;
}

/** The objects of all sources; what goes wrong is told with the repository's name. */
async function rendered(
  desired: DesiredSource,
  wanted: Wanted & Surroundings,
  signal: AbortSignal,
): Promise<readonly KubeObject[]> {
  const { name: appName, namespace, project, sources } = wanted;
  const request = {
    sources: sources.map((source) => ({
      source,
      repository: bareRepository(source.repoURL),
      revision: source.targetRevision ?? '',
    })),
    cluster: wanted.cluster,
    repositories: { repositories: [], credentials: [] },
    options: wanted.options,
    noRevisionCache: true,
    noCache: true,
    appName,
    namespace,
    project,
  };
  try {
    return (await desired.manifests(request, signal)).sources.flatMap(({ objects }) => objects);
  } catch (error) {
    signal.throwIfAborted();
    const url = sources[error instanceof SourceFailed ? error.index : 0]?.repoURL ?? '';
    throw new Error(`${url}: ${messageOf(error)}`, { cause: error });
  }
}

function print(output: Output, objects: readonly KubeObject[]): void {
  for (const object of objects) output.out(`---\n${formatYaml(object as unknown as Json).trimEnd()}`);
}

/** What a controller knows of the destination and of the settings. */
interface Surroundings {
  readonly cluster: Capabilities;
  readonly options: GeneratorOptions;
}

function surroundings(config: { kubeVersion: string; apiVersions: string; settings: string }): Surroundings {
  const apiVersions = config.apiVersions.split(',').filter((version) => version !== '');
  const map =
    config.settings === '' ? undefined : readObjects(config.settings).find(({ kind }) => kind === 'ConfigMap');
  if (config.settings !== '' && map === undefined)
    throw new UsageError(`${config.settings}: there is no ConfigMap in it`);
  const data = (map?.['data'] ?? {}) as Readonly<Record<string, string>>;
  return {
    cluster: { kubeVersion: config.kubeVersion, apiVersions },
    options: generatorOptions(parseSettings(data).settings),
  };
}

interface Wanted {
  readonly name: string;
  readonly namespace: string;
  readonly project: string;
  readonly sources: readonly ApplicationSource[];
}

function fromFlags(config: { repo: string; path: string; revision: string; recurse: boolean; name: string }): Wanted {
  if (config.repo === '') throw new UsageError('manifests needs -f APPLICATION.yaml, or --repo URL');
  const { repo, path, revision, recurse } = config;
  return {
    name: config.name,
    namespace: 'default',
    project: 'default',
    // Only what is asked for says what the directory is: else its files do.
    sources: [{ repoURL: repo, path, targetRevision: revision, ...(recurse ? { directory: { recurse } } : {}) }],
  };
}

function fromApplication(path: string): Wanted {
  const app = readObjects(path).find((object) => object.kind === 'Application');
  if (app === undefined) throw new UsageError(`${path}: there is no Application in it`);
  const spec = app['spec'] as unknown as Parameters<typeof sourcesOf>[0] | undefined;
  const sources = spec === undefined ? [] : sourcesOf(spec);
  if (spec === undefined || sources.length === 0) throw new UsageError(`${path}: the Application has no source`);
  const { destination, project } = spec;
  return {
    name: app.metadata.name ?? '',
    namespace: destination.namespace ?? 'default',
    project: project === undefined || project === '' ? 'default' : project,
    sources,
  };
}
