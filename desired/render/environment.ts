import { join } from 'node:path';
import type { RenderProgram } from './types.ts';

/** The command that starts a program: an absolute path, and arguments that always come first. */
export type RenderCommand = readonly [path: string, ...args: string[]];

/**
 * Finds the command of a program; `binary` is one that administrators configured. Undefined if it
 * is missing.
 */
export type RenderPrograms = (program: RenderProgram, binary?: string) => RenderCommand | undefined;

/**
 * A proxy on a port without a listener. (Go does not use a proxy for addresses of this machine.)
 */
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

/** Folders of a staging folder that programs may write to, created before the first step. */
export const writableFolders = ['home', 'tmp'] as const;

/**
 * The heap may grow to five times what is in use before Go collects garbage (its default: twice).
 * Most of helm's collections happen while it starts, and cost a third of its CPU time.
 */
const heapGrowthPercent = 400;
const maxHeapBytes = 2 ** 30;

/**
 * The whole environment of a program.
 * @param root path of the staging folder that the program sees
 * @param maxMemoryBytes above this, the program is killed
 */
export function stepEnvironment(root: string, maxMemoryBytes = Infinity): Record<string, string> {
  const home = join(root, 'home');
  return {
    HOME: home,
    TMPDIR: join(root, 'tmp'),
    // No other program can be found: nothing can be fetched through git, ssh or a plugin.
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
    GOGC: `${heapGrowthPercent}`,
    // Near this, the garbage collector works harder, so a big chart needs little more memory.
    GOMEMLIMIT: `${Math.floor(Math.min(maxHeapBytes, maxMemoryBytes / 2))}`,
    ...noNetwork,
  };
}

const versionArguments: Readonly<Record<Exclude<RenderProgram, 'parse'>, readonly string[]>> = {
  helm: ['version', '--short'],
  kustomize: ['version'],
  jsonnet: ['--version'],
};

/**
 * The arguments that print a program's version; undefined for the parser, which has the version of
 * Driftless.
 */
export function versionArgumentsOf(program: RenderProgram): readonly string[] | undefined {
  return program === 'parse' ? undefined : versionArguments[program];
}

/**
 * Finds the version in a program's output. Like Argo CD, assumes a new version if there is none.
 */
export function versionIn(printed: Uint8Array): string {
  return /\d+\.\d+\.\d+[^\s+}]*/.exec(Buffer.from(printed).toString('utf8'))?.[0] ?? '99.99.99';
}

/**
 * Programs found by a lookup such as {@link createToolLookup}. `parser` is the command that parses
 * big files.
 */
export function programsFrom(lookup: (name: string) => string | undefined, parser?: RenderCommand): RenderPrograms {
  return (program, binary) => {
    if (program === 'parse') return parser;
    const path = binary ?? lookup(program);
    return path === undefined ? undefined : [path];
  };
}
