import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isObject, own, stringifyJson, withDeadline } from '#base';
import type { Clock, JsonObject, Random } from '#base';
import type { Repository } from '#model';
import { DesiredError, PluginFailed, UnsafeInput, UnsupportedSource } from '../errors.ts';
import { Lru } from '../fetch/lru.ts';
import { Selection } from '../fetch/selection.ts';
import { packSelection } from '../fetch/tar.ts';
import { secretsIn } from '../given-secrets.ts';
import type { DesiredLimits } from '../limits.ts';
import { AskPass } from './ask-pass.ts';
import { buildEnvironment, substitute } from './environment.ts';
import { listOf, mapOf, textOf, wordsOf } from './options.ts';
import type { ManifestReader } from './manifest-reader.ts';
import { objectsPrinted } from './output.ts';
import { compilePathGlob } from './path-glob.ts';
import type { Job, Plan } from './plan.ts';
import { plainVersion } from './chart.ts';
import { PluginClient } from './plugin-client.ts';
import type { PluginInput } from './plugin-client.ts';
import { optionsHash } from './source-type.ts';

/** Where plugins listen, and what they are not sent. */
export interface PluginConfig {
  /** The folder of their sockets (ARGOCD_PLUGINSOCKFILEPATH). */
  readonly sockets: string;
  /** Globs on paths from the root (ARGOCD_REPO_SERVER_PLUGIN_TAR_EXCLUSIONS). */
  readonly exclusions: readonly string[];
  /** Where plugins ask for the credentials of a repository (ARGOCD_ASK_PASS_SOCK); without it, beside their own sockets. */
  readonly askPass?: string;
}

/** As Argo CD's repo-server reads them. */
export function pluginConfigOf(env: Readonly<Record<string, string | undefined>>): PluginConfig {
  const { ARGOCD_PLUGINSOCKFILEPATH: sockets = '', ARGOCD_REPO_SERVER_PLUGIN_TAR_EXCLUSIONS: globs = '' } = env;
  const { ARGOCD_ASK_PASS_SOCK: askPass = '' } = env;
  return {
    sockets: sockets === '' ? '/home/argocd/cmp-server/plugins' : sockets,
    exclusions: globs.split(';').filter((glob) => glob !== ''),
    ...(askPass === '' ? {} : { askPass }),
  };
}

export interface PluginsDeps {
  readonly clock: Clock;
  readonly limits: DesiredLimits;
  readonly reader: ManifestReader;
  readonly config: PluginConfig;
  readonly random: Random;
  /** The repository with what git would be told of it: tokens in the place of keys. */
  readonly withToken: (repository: Repository, signal: AbortSignal) => Promise<Repository>;
}

/**
 * Config management plugins: sidecars that render what they are sent (Argo CD: util/app/discovery, util/cmp, runConfigManagementPluginSidecars).
 * A plugin that hangs, dies or answers too much fails this one source, after a bounded time.
 *
 * Deliberate differences: the tar has no .git; a plugin that cannot be asked whether it knows a source is an error, because what would be
 * rendered without it is something else.
 */
export class Plugins {
  readonly #deps: PluginsDeps;
  /** By source and sockets: the socket that knows it, "" for none. */
  readonly #found = new Lru<string>(4096);
  readonly #askPass: AskPass;

  constructor(deps: PluginsDeps) {
    this.#deps = deps;
    const { askPass = join(deps.config.sockets, '.ask-pass.sock') } = deps.config;
    this.#askPass = new AskPass(askPass, deps.random);
  }

  /** The plugin that knows a source which names none; undefined when none does. @throws PluginFailed */
  async discover(job: Job, signal: AbortSignal): Promise<string | undefined> {
    const sockets = await this.#sockets();
    if (sockets.length === 0) return undefined;
    const key = stringifyJson([job.snapshot.key, job.snapshot.revision, [...job.segments], [...sockets]]);
    const known = job.request.noCache ? undefined : this.#found.get(key);
    if (known !== undefined) return known === '' ? undefined : known;
    const input = await this.#input(job, signal);
    let found = '';
    for (const socket of sockets) if (found === '' && (await this.#knows(job, socket, input, signal))) found = socket;
    this.#found.set(key, found, 1);
    return found === '' ? undefined : found;
  }

  /** How a source is rendered by the plugin that it names, or that knows it. @throws DesiredError, PluginFailed */
  async plan(job: Job, signal: AbortSignal): Promise<Plan> {
    const name = textOf(job.source.plugin ?? {}, 'name');
    const socket = name === '' ? await this.discover(job, signal) : await this.#named(job, name, signal);
    if (socket === undefined) throw none('could not find plugin supporting the given repository');
    const env = environmentOf(job);
    return {
      key: [job.snapshot.revision, job.segments, optionsHash(job.source), env, socket, this.#deps.config.exclusions],
      render: async (inner) => {
        const input = await this.#input(job, inner);
        const texts = await this.#ask(job, socket, inner, (client, work) => this.#rendered(client, job, input, work));
        return objectsPrinted(Buffer.from(texts.join('\n---\n')), `the plugin ${nameOf(socket)}`, this.#deps, inner);
      },
    };
  }

  /** With the login of the repository where the plugin wants it and there is one. @throws UnsupportedSource */
  async #rendered(client: PluginClient, job: Job, input: PluginInput, signal: AbortSignal): Promise<readonly string[]> {
    const { provideGitCreds } = await client.configuration(signal);
    const repository = provideGitCreds ? await this.#deps.withToken(job.repository, signal) : undefined;
    const { username = 'x-access-token', password } = repository ?? {};
    if (password === undefined) return client.manifests(input, signal);
    return this.#askPass.lend({ username, password: password.reveal() }, (lent) =>
      client.manifests({ ...input, env: { ...input.env, ...lent } }, signal),
    );
  }

  async #named(job: Job, name: string, signal: AbortSignal): Promise<string> {
    if (!/^[\w.-]+$/.test(name) || name.startsWith('.'))
      throw new UnsafeInput('the name of the plugin is refused: it must consist of letters, digits, dots and dashes');
    const socket = `${name}.sock`;
    const missing = `could not find cmp-server plugin with name "${name}" supporting the given repository`;
    if (!(await this.#sockets()).includes(socket)) throw none(missing);
    const input = await this.#input(job, signal);
    const isKnown = await this.#ask(job, socket, signal, async (client, work) => {
      const configuration = await this.#configured(client, job, socket, work);
      return !configuration.isDiscoveryConfigured || client.matches(input, work);
    });
    if (!isKnown) throw none(missing);
    return socket;
  }

  #knows(job: Job, socket: string, input: PluginInput, signal: AbortSignal): Promise<boolean> {
    return this.#ask(job, socket, signal, async (client, work) => {
      const { isDiscoveryConfigured } = await client.configuration(work);
      if (!isDiscoveryConfigured || !(await client.matches(input, work))) return false;
      await this.#configured(client, job, socket, work);
      return true;
    });
  }

  /** @throws UnsupportedSource for a plugin that wants credentials of the repository which cannot be asked for by a program */
  async #configured(
    client: PluginClient,
    job: Job,
    socket: string,
    signal: AbortSignal,
  ): Promise<{ readonly isDiscoveryConfigured: boolean }> {
    const configuration = await client.configuration(signal);
    const { bearerToken, sshPrivateKey, azure } = job.repository;
    const others = [bearerToken, sshPrivateKey, azure].some((one) => one !== undefined);
    if (configuration.provideGitCreds && others && job.repository.password === undefined)
      throw new UnsupportedSource(
        `Git credentials other than user and password for the plugin ${nameOf(socket)} (provideGitCreds)`,
      );
    return configuration;
  }

  async #ask<T>(
    job: Job,
    socket: string,
    signal: AbortSignal,
    body: (client: PluginClient, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const { clock, config, limits } = this.#deps;
    const { password } = job.repository;
    const hidden = (): readonly string[] => [...secretsIn(job.source), password?.reveal() ?? ''];
    const client = new PluginClient(nameOf(socket), join(config.sockets, socket), limits.maxToolBytes, hidden);
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

  /** Names of sockets in their order. A folder that is not there has none. */
  async #sockets(): Promise<readonly string[]> {
    const entries = await readdir(this.#deps.config.sockets, { withFileTypes: true }).catch(() => []);
    return entries
      .filter((entry) => entry.isSocket() && !entry.name.startsWith('.'))
      .map(({ name }) => name)
      .sort();
  }

  async #input(job: Job, signal: AbortSignal): Promise<PluginInput> {
    const { snapshot, segments, request } = job;
    const selection = new Selection(snapshot.tree);
    selection.add([]);
    const excluded = this.#deps.config.exclusions.map(compilePathGlob);
    for (const files of [selection.files, selection.links])
      for (const path of files.keys()) if (excluded.some((matches) => matchesPart(path, matches))) files.delete(path);
    selection.check(this.#deps.limits);
    const packed = await packSelection(snapshot, selection, signal);
    return { appName: request.appName, appRelPath: segments.join('/') || '.', env: environmentOf(job), packed };
  }
}

/** A pattern that matches a folder leaves out all that is in it. */
function matchesPart(path: string, matches: (path: string) => boolean): boolean {
  const segments = path.split('/');
  return segments.some((_, i) => matches(segments.slice(0, i + 1).join('/')));
}

function nameOf(socket: string): string {
  return socket.replace(/\.sock$/, '');
}

function none(message: string): DesiredError {
  return new DesiredError('DESIRED_PLUGIN_MISSING', message);
}

/** The build environment, the cluster, and what the source sets (Argo CD: getPluginEnvs, getPluginParamEnvs). */
function environmentOf(job: Job): Readonly<Record<string, string>> {
  const { cluster } = job.request;
  const plugin: JsonObject = job.source.plugin ?? {};
  const build = buildEnvironment(job);
  const env: Record<string, string> = {
    ...build,
    KUBE_VERSION: plainVersion(cluster.kubeVersion),
    KUBE_API_VERSIONS: cluster.apiVersions.join(','),
  };
  for (const one of listOf(plugin, 'env'))
    env[`ARGOCD_ENV_${textOf(one, 'name')}`] = substitute(textOf(one, 'value'), build);
  const parameters = listOf(plugin, 'parameters');
  if (parameters.length > 0) env['ARGOCD_APP_PARAMETERS'] = stringifyJson(parameters);
  for (const one of parameters) Object.assign(env, parameterOf(one));
  return env;
}

function parameterOf(one: JsonObject): Record<string, string> {
  const name = `PARAM_${escaped(textOf(one, 'name'))}`;
  const env: Record<string, string> = {};
  const [text, map] = [own(one, 'string'), own(one, 'map')];
  if (typeof text === 'string') env[name] = text;
  if (map !== undefined && isObject(map))
    for (const [key, value] of Object.entries(mapOf(one, 'map'))) env[`${name}_${escaped(key)}`] = value;
  for (const [i, value] of wordsOf(one, 'array').entries()) env[`${name}_${i}`] = value;
  return env;
}

function escaped(name: string): string {
  return name.toUpperCase().replaceAll(/[^A-Z0-9_]/g, '_');
}
