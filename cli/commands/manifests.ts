import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { messageOf, parseGoBool, Shutdown, systemClock, systemRandom, UsageError, withChild } from '#base';
import type { Json } from '#base';
import {
  azureWorkloadOf,
  createDesiredSource,
  generatorOptions,
  pluginConfigOf,
  proxySettingsOf,
  SourceFailed,
  startCommandHelper,
  withPlugins,
} from '#desired';
import type { TargetCapabilities, DesiredSource, GeneratorOptions } from '#desired';
import { bareRepository, sourcesOf } from '#model';
import type { ApplicationSource, KubeObject } from '#model';
import { parseSettings } from '#settings';
import { silentLogger } from '#telemetry';
import { printHelp, readArgs } from '../options/args.ts';
import type { CommandContext } from '../process/command.ts';
import { readObjects } from './files.ts';
import type { CommandOutput } from '../process/output.ts';
import { yamlText } from '../process/structured.ts';
import { help } from '../options/common-options.ts';
import { localRenderer } from '../render/renderer.ts';

const options = {
  file: {
    flag: 'filename',
    short: 'f',
    kind: 'string',
    help: 'File that contains an Application; - reads standard input.',
  },
  repo: { flag: 'repo', kind: 'string', help: 'Repository URL, instead of an Application.' },
  path: { flag: 'path', kind: 'string', default: '.', help: 'Directory in the repository.' },
  revision: { flag: 'revision', kind: 'string', help: 'Branch, tag or commit. Empty: HEAD.' },
  recurse: { flag: 'recurse', kind: 'bool', help: 'Include subdirectories.' },
  name: { flag: 'name', kind: 'string', default: 'driftless', help: 'Application name, with --repo.' },
  kubeVersion: { flag: 'kube-version', kind: 'string', help: 'Kubernetes version of the destination.' },
  apiVersions: {
    flag: 'api-versions',
    kind: 'string',
    help: 'API versions of the destination, for charts that check them: v1,apps/v1/Deployment.',
  },
  settings: {
    flag: 'argocd-cm',
    kind: 'string',
    help: 'File that contains the ConfigMap argocd-cm, for build options.',
  },
  help,
} as const;

const usage = 'usage: driftless manifests (-f APPLICATION.yaml | --repo URL --path P --revision R)';

/** `driftless manifests`: renders a source as YAML documents. */
export async function manifests({ argv, env, output, signal }: CommandContext): Promise<number> {
  const { config } = readArgs(options, argv, env);
  if (config.help) return printHelp(output, usage, options);
  const query = {
    ...(config.file === '' ? fromFlags(config) : fromApplication(config.file)),
    ...destinationSettings(config),
  };
  const cacheDir = mkdtempSync(join(tmpdir(), 'driftless-manifests-'));
  const helper = startCommandHelper({ logger: silentLogger, env });
  const renderer = localRenderer({ logger: silentLogger, folder: cacheDir, path: env['PATH'], isQuiet: true });
  try {
    await withChild(signal, async (inner, stop) => {
      const running = Promise.all([helper.run(inner), renderer.run(inner)]);
      const desired = createDesiredSource({
        // The caller names the sources, on the caller's own machine.
        reach: { allowLocal: true },
        clock: systemClock,
        random: systemRandom,
        logger: silentLogger,
        cacheDir,
        commands: helper,
        renderer,
        proxies: proxySettingsOf(env),
        plugins: withPlugins(pluginConfigOf(env)),
        azureWorkload: azureWorkloadOf(env),
        submodules: parseGoBool(env['ARGOCD_GIT_MODULES_ENABLED'] ?? '') !== false,
      });
      try {
        print(output, await rendered(desired, query, inner));
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

/** Renders all sources; errors name the repository. */
async function rendered(
  desired: DesiredSource,
  query: RenderQuery & DestinationSettings,
  signal: AbortSignal,
): Promise<readonly KubeObject[]> {
  const { name: appName, namespace, project, sources } = query;
  const request = {
    sources: sources.map((source) => ({
      source,
      repository: bareRepository(source.repoURL),
      revision: source.targetRevision ?? '',
    })),
    cluster: query.cluster,
    repositories: { repositories: [], credentials: [] },
    options: query.options,
    cache: { revision: 'current', manifests: 'rerender' } as const,
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

function print(output: CommandOutput, objects: readonly KubeObject[]): void {
  for (const object of objects) output.out(documentLines(object));
}

/** An object as a document of a YAML stream, without its last line break. */
export function documentLines(object: KubeObject): string {
  return `---\n${yamlText(object as unknown as Json)}`;
}

/** Facts about the destination and the settings that a controller reads from the cluster. */
interface DestinationSettings {
  readonly cluster: TargetCapabilities;
  readonly options: GeneratorOptions;
}

function destinationSettings(config: {
  kubeVersion: string;
  apiVersions: string;
  settings: string;
}): DestinationSettings {
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

interface RenderQuery {
  readonly name: string;
  readonly namespace: string;
  readonly project: string;
  readonly sources: readonly ApplicationSource[];
}

function fromFlags(config: {
  repo: string;
  path: string;
  revision: string;
  recurse: boolean;
  name: string;
}): RenderQuery {
  if (config.repo === '') throw new UsageError('manifests needs -f APPLICATION.yaml, or --repo URL');
  const { repo, path, revision, recurse } = config;
  return {
    name: config.name,
    namespace: 'default',
    project: 'default',
    // Without --recurse, the files determine the source type.
    sources: [{ repoURL: repo, path, targetRevision: revision, ...(recurse ? { directory: { recurse } } : {}) }],
  };
}

function fromApplication(path: string): RenderQuery {
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
