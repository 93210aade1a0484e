import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  defined,
  hashText,
  KeyedMutex,
  newAbortController,
  omit,
  SecretValue,
  Shutdown,
  systemClock,
  systemRandom,
  UsageError,
  withChild,
} from '#base';
import {
  commitFiles,
  createDesiredSource,
  defaultLimits,
  generatorOptions,
  proxySettingsOf,
  readDirectory,
  SourceFailed,
  startCommandHelper,
  startLocalRenderer,
} from '#desired';
import type { CommandHelper, DesiredSource, ManifestsRequest, Renderer, SourceOptionNames } from '#desired';
import { bareRepository, defaultSettings } from '#model';
import type { ApplicationSource, Repository } from '#model';
import { silentLogger } from '#telemetry';
import { checkRenderInputs } from './renderer-checks.ts';
import type { RenderedSource, RendererOptions, RenderInputs, RenderSource, SourceRenderer } from './types.ts';

const programParallelism = 4;
const programMemoryBytes = 4 * 2 ** 30;
const maxRequestBytes = 2 ** 30;
const optionNames: SourceOptionNames = {
  localRepositories: 'options.allowLocal',
  localSources: 'options.allowLocal',
  deniedNetworks: 'options.limits.deniedNetworks',
};

export interface OpenedRendererOptions extends RendererOptions {
  readonly cacheDir: string;
  /** Deletes `cacheDir` at the end. */
  readonly isTemporary: boolean;
}

/** The embedded generator of the controller, with its helper processes. */
export class OpenedRenderer implements SourceRenderer {
  readonly #options: OpenedRendererOptions;
  readonly #controller = newAbortController();
  readonly #helper: CommandHelper;
  readonly #renderer: Renderer;
  /** Folders of this machine are trusted: they are repositories by path. */
  readonly #folders: DesiredSource;
  readonly #remotes: DesiredSource;
  readonly #imports = new KeyedMutex<string>();
  readonly #running: Promise<unknown>;

  constructor(options: OpenedRendererOptions) {
    this.#options = options;
    const { env, cacheDir, allowLocal = false } = options;
    this.#helper = startCommandHelper({ logger: silentLogger, env });
    this.#renderer = startLocalRenderer({
      clock: systemClock,
      random: systemRandom,
      version: packageVersion(),
      logger: silentLogger,
      settings: {
        folder: join(cacheDir, 'render'),
        path: env['PATH'] ?? '',
        folders: [],
        parallelism: programParallelism,
        memoryBytes: programMemoryBytes,
        maxRequestBytes,
        logLevel: 'warn',
        logFormat: 'text',
      },
    });
    this.#folders = this.#source('folders', true);
    this.#remotes = this.#source('remotes', allowLocal);
    const { signal } = this.#controller;
    const parts = [this.#helper, this.#renderer, this.#folders, this.#remotes];
    this.#running = Promise.allSettled(parts.map((part) => part.run(signal)));
  }

  async render(inputs: RenderInputs): Promise<RenderedSource> {
    checkRenderInputs(inputs, 'inputs');
    this.#controller.signal.throwIfAborted();
    const { folder } = checkedSource(inputs.source);
    const parent = inputs.signal ?? newAbortController().signal;
    parent.throwIfAborted();
    return withChild(parent, (signal, abort) => {
      const onClose = (): void => abort(this.#controller.signal.reason as Error);
      this.#controller.signal.addEventListener('abort', onClose, { once: true });
      const work =
        folder === undefined ? this.#renderRemote(inputs, signal) : this.#renderFolder(folder, inputs, signal);
      return work.finally(() => this.#controller.signal.removeEventListener('abort', onClose));
    });
  }

  async close(): Promise<void> {
    if (!this.#controller.signal.aborted) this.#controller.abort(new Shutdown('the renderer is closed'));
    await this.#running;
    if (this.#options.isTemporary) await rm(this.#options.cacheDir, { recursive: true, force: true });
  }

  #source(name: string, localRepositories: boolean): DesiredSource {
    const { env, cacheDir, limits, allowLocal = false } = this.#options;
    return createDesiredSource({
      clock: systemClock,
      random: systemRandom,
      logger: silentLogger,
      cacheDir: join(cacheDir, name),
      commands: this.#helper,
      renderer: this.#renderer,
      parseInRenderer: true,
      localRepositories,
      reach: { allowLocal },
      optionNames,
      proxies: proxySettingsOf(env),
      version: packageVersion(),
      limits: { ...defined(limits ?? {}), pauseAfterFailures: 0 },
    });
  }

  #renderRemote(inputs: RenderInputs, signal: AbortSignal): Promise<RenderedSource> {
    const { source, login = {} } = inputs;
    const { username, password, sshPrivateKey } = login;
    const secretOf = (text: string | undefined): SecretValue | undefined =>
      text === undefined ? undefined : new SecretValue(text);
    const repository: Repository = {
      ...bareRepository(source.repoURL ?? ''),
      ...defined({ username, password: secretOf(password), sshPrivateKey: secretOf(sshPrivateKey) }),
    };
    return rendered(this.#remotes, requestOf(inputs, repository, source.targetRevision ?? ''), signal);
  }

  /** Commits the content of a folder to a repository of the cache, and renders that. */
  async #renderFolder(folder: string, inputs: RenderInputs, signal: AbortSignal): Promise<RenderedSource> {
    const { cacheDir, limits } = this.#options;
    const { maxCheckoutBytes: bytes, maxCheckoutFiles: files } = { ...defaultLimits, ...defined(limits ?? {}) };
    const root = resolve(folder);
    const repository = join(resolve(cacheDir), 'imported', `${hashText(root)}.git`);
    // The next import replaces the branch, so render before it.
    return this.#imports.run(root, signal, async () => {
      await commitFiles(repository, await readDirectory(root, { bytes, files }), signal);
      return rendered(this.#folders, requestOf(inputs, bareRepository(pathToFileURL(repository).href), 'main'), signal);
    });
  }
}

/** @throws UsageError unless it names one origin and nothing that needs an Application */
function checkedSource(source: RenderSource): RenderSource {
  const { folder = '', repoURL = '' } = source;
  if ((folder === '') === (repoURL === '')) throw new UsageError('a source needs either a folder or a repoURL');
  if (folder !== '' && source.targetRevision !== undefined)
    throw new UsageError('targetRevision needs a repoURL: a folder has no revisions');
  if (folder !== '' && source.chart !== undefined)
    throw new UsageError('chart needs a repoURL: name the folder of the chart by path');
  const unsupported = ['ref', 'plugin'].find((name) => name in source);
  if (unsupported !== undefined) throw new UsageError(`${unsupported} is not supported: only an Application has it`);
  return source;
}

function requestOf(inputs: RenderInputs, repository: Repository, revision: string): ManifestsRequest {
  const { name = 'app', namespace = 'default', kubeVersion = '', apiVersions = [] } = inputs;
  const source: ApplicationSource = { ...omit(inputs.source, 'folder'), repoURL: repository.url };
  return {
    sources: [{ source, repository, revision }],
    cluster: { kubeVersion, apiVersions: [...apiVersions].sort() },
    repositories: { repositories: [], credentials: [] },
    options: generatorOptions(defaultSettings),
    cache: { revision: 'current', manifests: 'cached' },
    appName: name,
    namespace,
    project: 'default',
  };
}

async function rendered(
  desired: DesiredSource,
  request: ManifestsRequest,
  signal: AbortSignal,
): Promise<RenderedSource> {
  try {
    const [found] = (await desired.manifests(request, signal)).sources;
    if (found === undefined || found.sourceType === '') throw new TypeError('the source renders nothing');
    const { objects, revision, ignored = [], sourceType } = found;
    return { objects, revision, ignored, sourceType };
  } catch (error) {
    signal.throwIfAborted();
    throw error instanceof SourceFailed ? error.cause : error;
  }
}

function packageVersion(): string {
  const path = import.meta.url.endsWith('.ts') ? '../../package.json' : '../../../package.json';
  const text = readFileSync(new URL(path, import.meta.url), 'utf8');
  return (JSON.parse(text) as { readonly version: string }).version;
}
