import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Limiter, messageOf, outsideText } from '#base';
import type { CommandResult, CommandRunner } from '../command/types.ts';
import { CommandError, ToolFailed, ToolMissing } from '../errors.ts';
import { compareVersions, parseVersion } from '../fetch/semver.ts';
import type { DesiredLimits } from '../limits.ts';

export type ToolName = 'helm' | 'kustomize' | 'jsonnet';

/** Where a program lies on this machine: an absolute path, or undefined when it is nowhere. */
export type ToolLookup = (name: ToolName) => string | undefined;

/** A program that is here and new enough. */
export interface Tool {
  readonly name: string;
  readonly path: string;
  readonly version: string;
}

const kinds = {
  helm: { ask: ['version', '--short'], oldest: { major: 3, minor: 14, patch: 0, pre: '' } },
  kustomize: { ask: ['version'], oldest: { major: 5, minor: 0, patch: 0, pre: '' } },
  jsonnet: { ask: ['--version'], oldest: { major: 0, minor: 20, patch: 0, pre: '' } },
} as const;

/** How a program is run for a source. */
export interface ToolRun {
  /** The folder of this render: its home, its temporary files and the checkouts lie in it, and nothing of it is shown. */
  readonly work: string;
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** It has to talk to others: a chart that depends on charts elsewhere. */
  readonly network?: boolean;
  /** Texts that must not be shown; asked for when there is something to show. */
  readonly secrets?: () => readonly string[];
  readonly signal: AbortSignal;
}

/**
 * The programs that render sources. They run in the helper process, without a shell, with an environment of their own: no configuration of a
 * user, no other program on PATH, no API server, and no way to the network but where a render needs one.
 */
export class Tools {
  readonly #deps: { readonly commands: CommandRunner; readonly lookup: ToolLookup; readonly limits: DesiredLimits };
  readonly #known = new Map<string, Tool>();
  readonly #running: Limiter;

  constructor(deps: { readonly commands: CommandRunner; readonly lookup: ToolLookup; readonly limits: DesiredLimits }) {
    this.#deps = deps;
    this.#running = new Limiter(deps.limits.toolParallelism);
  }

  /**
   * A program that can be run. What is missing is looked for again the next time.
   * @throws ToolMissing, which says how to get it
   */
  async find(name: ToolName, signal: AbortSignal, path = this.#deps.lookup(name)): Promise<Tool> {
    const { oldest, ask } = kinds[name];
    const needed = `${oldest.major}.${oldest.minor} or newer`;
    if (path === undefined)
      throw new ToolMissing(
        `${name} is not installed on the machine of this controller, or not on PATH: install ${name} ${needed} there (the image of Driftless has it)`,
      );
    const known = this.#known.get(path);
    if (known !== undefined) return known;
    const version = await this.#versionOf(path, ask, signal);
    const parsed = parseVersion(version);
    if (parsed !== undefined && compareVersions(parsed, oldest) < 0)
      throw new ToolMissing(`${name} at ${path} is of version ${version}: ${needed} is needed`);
    const tool = { name, path, version };
    this.#known.set(path, tool);
    return tool;
  }

  /** What the program prints. @throws ToolFailed with its own words */
  async run(tool: Tool, args: readonly string[], run: ToolRun): Promise<Uint8Array> {
    const result = await this.result(tool, args, run);
    if (result.exitCode === 0) return result.stdout;
    throw new ToolFailed(
      `\`${shown(tool, args, run)}\` failed exit status ${result.exitCode ?? 'none'}: ${result.stderr}`,
    );
  }

  /** The result, also of a failed run; its messages can be shown. */
  async result(tool: Tool, args: readonly string[], run: ToolRun): Promise<CommandResult> {
    const { limits } = this.#deps;
    for (const name of ['home', 'tmp']) await mkdir(join(run.work, name), { recursive: true, mode: 0o700 });
    const result = await this.#running.run(run.signal, () =>
      this.#deps.commands.runCommand([tool.path, ...args], {
        cwd: run.cwd,
        env: { ...environment(run), ...run.env },
        timeoutMs: limits.toolTimeoutMs,
        maxBytes: limits.maxToolBytes,
        maxMemoryBytes: limits.maxToolMemoryBytes,
        signal: run.signal,
      }),
    );
    return { ...result, stderr: presentable(result.stderr.trim(), run) };
  }

  async #versionOf(path: string, ask: readonly string[], signal: AbortSignal): Promise<string> {
    const options = { env: { HOME: '/nonexistent', ...noNetwork }, timeoutMs: 30_000, maxBytes: 64 * 1024, signal };
    try {
      const { stdout } = await this.#deps.commands.runCommand([path, ...ask], options);
      // Argo CD takes what it cannot read for a new one.
      return /\d+\.\d+\.\d+[^\s+}]*/.exec(Buffer.from(stdout).toString('utf8'))?.[0] ?? '99.99.99';
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      throw new ToolMissing(`cannot run ${path}: ${messageOf(error)}`);
    }
  }
}

/** Requests go to a port where nobody listens. (Go does not ask a proxy for addresses of this machine.) */
const noNetwork = {
  http_proxy: 'http://127.0.0.1:9',
  https_proxy: 'http://127.0.0.1:9',
  all_proxy: 'http://127.0.0.1:9',
  HTTP_PROXY: 'http://127.0.0.1:9',
  HTTPS_PROXY: 'http://127.0.0.1:9',
  ALL_PROXY: 'http://127.0.0.1:9',
  no_proxy: '',
  NO_PROXY: '',
};

function environment({ work, network }: ToolRun): Record<string, string> {
  const home = join(work, 'home');
  return {
    HOME: home,
    TMPDIR: join(work, 'tmp'),
    // No program beside itself: what is fetched by git, ssh or a plug-in is not fetched here.
    PATH: '/nonexistent',
    SSH_AUTH_SOCK: '',
    LC_ALL: 'C',
    KUBECONFIG: '/dev/null',
    XDG_CACHE_HOME: join(home, 'cache'),
    XDG_CONFIG_HOME: join(home, 'config'),
    XDG_DATA_HOME: join(home, 'data'),
    HELM_CACHE_HOME: join(home, 'cache', 'helm'),
    HELM_CONFIG_HOME: join(home, 'config', 'helm'),
    HELM_DATA_HOME: join(home, 'data', 'helm'),
    KUSTOMIZE_PLUGIN_HOME: join(home, 'plugins'),
    // Memory: the collector works harder near this, so that one big chart does not end the whole pod.
    GOMEMLIMIT: '1GiB',
    ...(network === true ? {} : noNetwork),
  };
}

function shown(tool: Tool, args: readonly string[], run: ToolRun): string {
  return presentable([tool.name, ...args].join(' '), run);
}

/** Without credentials, without the folder of the render, and without the hundreds of API versions (Argo CD: cleanupTemplateOutput). */
export function presentable(text: string, run: Pick<ToolRun, 'work' | 'secrets'>): string {
  if (text === '') return '';
  let clean = text
    .replaceAll(`${run.work}/repo/`, '')
    .replaceAll(`${run.work}/repo`, '.')
    .replaceAll(`${run.work}/`, '');
  clean = clean.replaceAll(/(--(?:helm-)?api-versions[ =]\S+ )+/g, '<api versions removed> ');
  return outsideText('program', clean, { hidden: run.secrets?.() ?? [] }).slice(0, 8192);
}
