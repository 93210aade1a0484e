import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isObject, newAbortController, ownMember, parseGoBool, stringifyJson, tenantOf, withDeadline } from '#base';
import type { Clock, JsonObject, RandomSource } from '#base';
import type { Repository } from '#model';
import { DesiredError, PluginFailed, UnsafeInput } from '../../errors.ts';
import { Lru } from '../../fetch/shared/lru.ts';
import { secretsIn } from '../../given-secrets.ts';
import type { InputBudget } from '../../inputs/input-budget.ts';
import type { DesiredLimits } from '../../limits.ts';
import { buildEnvironment, substituteIn } from '../environment.ts';
import { listOf, mapOf, textOf, wordsOf } from '../options.ts';
import type { ManifestReader } from '../manifest-reader.ts';
import { objectsPrinted } from '../output.ts';
import type { RenderJob, RenderPlan } from '../plan.ts';
import { plainVersion } from '../cluster-versions.ts';
import { GitCredentials, lentSecrets } from './git-credentials.ts';
import { PluginClient } from './plugin-client.ts';
import type { PluginInput } from './plugin-client.ts';
import { PluginInputs } from './plugin-input.ts';
import type { InputPurpose } from './plugin-input.ts';
import type { RemotePlugins } from './remote-plugins.ts';
import { pluginMissing } from './source-plugins.ts';
import type { SourcePlugins } from './source-plugins.ts';
import { optionsHash } from '../source-type.ts';

/** The sockets of plugins, and the files that are never sent to them. */
export interface PluginConfig {
  /** The folder of their sockets (ARGOCD_PLUGINSOCKFILEPATH). */
  readonly sockets: string;
  /** Globs on paths from the root (ARGOCD_REPO_SERVER_PLUGIN_TAR_EXCLUSIONS). */
  readonly exclusions: readonly string[];
  /**
   * Plugins get only the directory that `manifest-generate-paths` needs
   * (ARGOCD_REPO_SERVER_PLUGIN_USE_MANIFEST_GENERATE_PATHS).
   */
  readonly usesGeneratePaths?: boolean;
  /**
   * The socket where plugins request the credentials of a repository (ARGOCD_ASK_PASS_SOCK). By
   * default it lies beside their own sockets.
   */
  readonly askPass?: string;
}

/** Reads the environment variables of Argo CD's repo-server. */
export function pluginConfigOf(env: Readonly<Record<string, string | undefined>>): PluginConfig {
  const { ARGOCD_PLUGINSOCKFILEPATH: sockets = '', ARGOCD_REPO_SERVER_PLUGIN_TAR_EXCLUSIONS: globs = '' } = env;
  const { ARGOCD_ASK_PASS_SOCK: askPass = '', ARGOCD_REPO_SERVER_PLUGIN_USE_MANIFEST_GENERATE_PATHS: paths = '' } = env;
  return {
    sockets: sockets === '' ? '/home/argocd/cmp-server/plugins' : sockets,
    exclusions: globs.split(';').filter((glob) => glob !== ''),
    usesGeneratePaths: parseGoBool(paths) === true,
    ...(askPass === '' ? {} : { askPass }),
  };
}

export interface PluginGeneratorDeps {
  readonly clock: Clock;
  readonly limits: DesiredLimits;
  readonly reader: ManifestReader;
  readonly inputs: InputBudget;
  readonly config: PluginConfig;
  readonly random: RandomSource;
  /** The known_hosts file of ssh. */
  readonly sshKnownHosts: string;
  /** Plugins that stand elsewhere, for sources that no socket serves. */
  readonly remote?: RemotePlugins | undefined;
  /** Replaces the App or cloud credentials of a repository by the token that git would use. */
  readonly withToken: (repository: Repository, signal: AbortSignal) => Promise<Repository>;
}

/**
 * Config management plugins: sidecars that render the files they are sent (Argo CD:
 * util/app/discovery, util/cmp, runConfigManagementPluginSidecars). A plugin that hangs, dies or
 * returns too much fails only this source, after a bounded time.
 *
 * Deliberate differences: .git has one commit without history; failing to query a plugin's support
 * for a source is an error, because the source would otherwise be rendered as something else.
 */
export class PluginGenerator implements SourcePlugins {
  readonly #deps: PluginGeneratorDeps;
  /** The {@link PluginPlace} of the supporting plugin ("" for none), by source and plugins. */
  readonly #found = new Lru<string>(4096);
  readonly #credentials: GitCredentials;
  readonly #inputs: PluginInputs;
  #names: { readonly at: number; readonly sockets: Promise<readonly string[]> } = {
    at: Number.NEGATIVE_INFINITY,
    sockets: Promise.resolve([]),
  };

  constructor(deps: PluginGeneratorDeps) {
    this.#deps = deps;
    this.#credentials = new GitCredentials({ ...deps, ...deps.config });
    const { exclusions, usesGeneratePaths = false } = deps.config;
    this.#inputs = new PluginInputs({ ...deps, exclusions, usesGeneratePaths });
  }

  /**
   * The plugin that supports a source without an explicit type; undefined if none does.
   * @throws PluginFailed, RepoServerError
   */
  async discover(job: RenderJob, signal: AbortSignal): Promise<PluginPlace | undefined> {
    const sockets = await this.#recentSockets(discoveryTtlMs);
    const elsewhere = (await this.#deps.remote?.names(signal)) ?? [];
    if (sockets.length === 0 && elsewhere.length === 0) return undefined;
    const { snapshot, segments } = job;
    const key = stringifyJson([snapshot.key, snapshot.revision, [...segments], [...sockets], [...elsewhere]]);
    const known = job.request.cache.manifests === 'rerender' ? undefined : this.#found.get(key);
    if (known !== undefined) return known === '' ? undefined : known;
    const here = sockets.length === 0 ? '' : await this.#discoverHere(job, sockets, signal);
    const asksElsewhere = here === '' && elsewhere.length > 0;
    const found = asksElsewhere && (await this.#deps.remote?.supports(job, signal)) === true ? atRepoServer : here;
    this.#found.set(key, found, 1, tenantOf(signal).project);
    return found === '' ? undefined : found;
  }

  /** The first socket whose plugin supports the source, or "". */
  #discoverHere(job: RenderJob, sockets: readonly string[], signal: AbortSignal): Promise<string> {
    return this.#withInput(job, 'match', signal, async (input) => {
      for (const socket of sockets) if (await this.#knows(job, socket, input, signal)) return socket;
      return '';
    });
  }

  /**
   * Plans the rendering by the plugin that the source names, or that supports it.
   * @throws DesiredError, PluginFailed
   */
  async plan(job: RenderJob, signal: AbortSignal): Promise<RenderPlan> {
    const name = textOf(job.source.plugin ?? {}, 'name');
    const socket = name === '' ? await this.discover(job, signal) : await this.#named(job, name, signal);
    if (socket === undefined) throw pluginMissing();
    const { remote } = this.#deps;
    if (socket === atRepoServer && remote !== undefined)
      return {
        key: [...inputKeyOf(job), socket, remote.address, job.request.watched?.annotation ?? ''],
        render: (inner) => remote.render(job, inner),
      };
    return {
      key: [...inputKeyOf(job), socket, this.#inputs.rootOf(job), this.#deps.config.exclusions],
      render: async (inner) => {
        const texts = await this.#withInput(job, 'generate', inner, (input) =>
          this.#ask(job, socket, inner, (client, work) => this.#rendered(client, { job, socket, input }, work)),
        );
        return objectsPrinted(Buffer.from(texts.join('\n---\n')), `the plugin ${nameOf(socket)}`, this.#deps, inner);
      },
    };
  }

  /** Closes the connections to other plugins when the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#deps.remote?.run(signal);
  }

  /** Removes the lent files that a killed process left. */
  clear(): Promise<void> {
    return this.#credentials.clear();
  }

  /** Lends the credentials of the repository if the plugin asks for them. */
  async #rendered(
    client: PluginClient,
    { job, socket, input }: PluginCall,
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    const { provideGitCreds } = await client.configuration(signal);
    if (!provideGitCreds) return client.manifests(input, signal);
    const repository = await this.#deps.withToken(job.repository, signal);
    client.hide(lentSecrets(repository));
    return this.#credentials.lend(repository, socket, (lent) =>
      client.manifests({ ...input, env: { ...input.env, ...lent } }, signal),
    );
  }

  async #named(job: RenderJob, name: string, signal: AbortSignal): Promise<PluginPlace> {
    if (!/^[\w.-]+$/.test(name) || name.startsWith('.'))
      throw new UnsafeInput('the name of the plugin is refused: it must consist of letters, digits, dots and dashes');
    const socket = `${name}.sock`;
    if (!(await this.#sockets()).includes(socket)) {
      if (this.#deps.remote !== undefined) return atRepoServer;
      throw pluginMissing(name);
    }
    const isKnown = await this.#withInput(job, 'match', signal, (input) =>
      this.#ask(job, socket, signal, async (client, work) => {
        const { isDiscoveryConfigured } = await client.configuration(work);
        return !isDiscoveryConfigured || client.matches(input, work);
      }),
    );
    if (!isKnown) throw pluginMissing(name);
    return socket;
  }

  #knows(job: RenderJob, socket: string, input: PluginInput, signal: AbortSignal): Promise<boolean> {
    return this.#ask(job, socket, signal, async (client, work) => {
      const { isDiscoveryConfigured } = await client.configuration(work);
      return isDiscoveryConfigured && client.matches(input, work);
    });
  }

  #withInput<T>(
    job: RenderJob,
    purpose: InputPurpose,
    signal: AbortSignal,
    body: (input: PluginInput) => Promise<T>,
  ): Promise<T> {
    return this.#inputs.run(job, { purpose, env: environmentOf(job) }, signal, body);
  }

  async #ask<T>(
    job: RenderJob,
    socket: string,
    signal: AbortSignal,
    body: (client: PluginClient, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const { clock, config, limits } = this.#deps;
    const { password } = job.repository;
    const hidden = (): readonly string[] => [...secretsIn(job.source), password?.reveal() ?? ''];
    const bounds = { maxBytes: limits.maxToolBytes, maxParts: limits.maxObjects };
    const client = new PluginClient(nameOf(socket), join(config.sockets, socket), bounds, hidden);
    const limitMs = limits.toolTimeoutMs;
    try {
      return await withDeadline(signal, { clock, limitMs, what: `the plugin ${nameOf(socket)}` }, (work) =>
        body(client, work),
      );
    } catch (error) {
      if (!(error instanceof PluginFailed)) throw error;
      throw new DesiredError(
        'DESIRED_PLUGIN',
        `CMP processing failed for application "${job.request.appName}": ${error.message}`,
        {
          cause: error,
        },
      );
    } finally {
      client.close();
    }
  }

  /** Like {@link #sockets}, at most {@link namesTtlMs} old. */
  async names(): Promise<readonly string[]> {
    const sockets = await this.#recentSockets(namesTtlMs);
    const { remote } = this.#deps;
    if (remote === undefined) return sockets;
    // Not waited for: sources with a type do not need the repo-server.
    remote.names(newAbortController().signal).catch(() => undefined);
    return [...sockets, ...(remote.knownNames() ?? ['']).map((name) => `${atRepoServer}/${name}`)];
  }

  #recentSockets(maxAgeMs: number): Promise<readonly string[]> {
    const now = this.#deps.clock.monotonic();
    if (now - this.#names.at >= maxAgeMs) this.#names = { at: now, sockets: this.#sockets() };
    return this.#names.sockets;
  }

  /** The sorted names of the sockets. A missing folder has none. */
  async #sockets(): Promise<readonly string[]> {
    const entries = await readdir(this.#deps.config.sockets, { withFileTypes: true }).catch(() => []);
    return entries
      .filter((entry) => entry.isSocket() && !entry.name.startsWith('.'))
      .map(({ name }) => name)
      .sort();
  }
}

/** The name of a plugin's socket, or {@link atRepoServer}. */
type PluginPlace = string;

/** No socket has such a name. */
const atRepoServer = '/repo-server';

interface PluginCall {
  readonly job: RenderJob;
  readonly socket: string;
  readonly input: PluginInput;
}

/** Plugins start with the pod; one that starts later is noticed after this time. */
const namesTtlMs = 5000;
/** Shorter, because a source that the plugin supports is rendered as something else meanwhile. */
const discoveryTtlMs = 250;

/** The inputs of any plugin: equal keys, equal answers. */
function inputKeyOf(job: RenderJob): readonly unknown[] {
  return [job.snapshot.revision, job.segments, optionsHash(job.source), environmentOf(job)];
}

function nameOf(socket: string): string {
  return socket.replace(/\.sock$/, '');
}

/**
 * The build environment, the cluster, and the variables and parameters of the source (Argo CD:
 * getPluginEnvs, getPluginParamEnvs).
 */
function environmentOf(job: RenderJob): Readonly<Record<string, string>> {
  const { cluster } = job.request;
  const plugin: JsonObject = job.source.plugin ?? {};
  const build = buildEnvironment(job);
  const substitute = substituteIn(build);
  const env: Record<string, string> = {
    ...build,
    KUBE_VERSION: plainVersion(cluster.kubeVersion),
    KUBE_API_VERSIONS: cluster.apiVersions.join(','),
  };
  for (const one of listOf(plugin, 'env')) env[`ARGOCD_ENV_${textOf(one, 'name')}`] = substitute(textOf(one, 'value'));
  const parameters = listOf(plugin, 'parameters');
  if (parameters.length > 0) env['ARGOCD_APP_PARAMETERS'] = stringifyJson(parameters);
  for (const one of parameters) Object.assign(env, parameterOf(one));
  return env;
}

function parameterOf(one: JsonObject): Record<string, string> {
  const name = `PARAM_${escaped(textOf(one, 'name'))}`;
  const env: Record<string, string> = {};
  const [text, map] = [ownMember(one, 'string'), ownMember(one, 'map')];
  if (typeof text === 'string') env[name] = text;
  if (map !== undefined && isObject(map))
    for (const [key, value] of Object.entries(mapOf(one, 'map'))) env[`${name}_${escaped(key)}`] = value;
  for (const [i, value] of wordsOf(one, 'array').entries()) env[`${name}_${i}`] = value;
  return env;
}

function escaped(name: string): string {
  return name.toUpperCase().replaceAll(/[^A-Z0-9_]/g, '_');
}
