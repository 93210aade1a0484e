import { messageOf, scrub, Shutdown, systemClock, UsageError } from '#base';
import type { Timer } from '#base';
import { nearest } from './args.ts';
import { onBrokenOutput, processOutput } from './output.ts';
import type { Output } from './output.ts';
import { packageVersion } from './root.ts';

/** What a command gets from the edge of the process. */
export interface CommandContext {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly output: Output;
  /** Aborts at the first SIGINT or SIGTERM. */
  readonly signal: AbortSignal;
}

/** Resolves with the exit code. Rejects with UsageError for bad usage (exit 2), with anything else for a failed job (exit 1). */
export type Command = (context: CommandContext) => Promise<number>;

interface Entry {
  readonly help: string;
  readonly load: () => Promise<Command>;
}

/** Commands load their code when they are called: `--version` must not pay for the controller. */
const commands: Readonly<Record<string, Entry>> = {
  run: { help: 'the controller', load: async () => (await import('./run.ts')).run },
  preflight: {
    help: 'what would differ if this controller took over from Argo CD; changes nothing',
    load: async () => (await import('./preflight/preflight.ts')).preflight,
  },
  demo: {
    help: 'a simulated hub and clusters, sample repositories, replicas and the dashboard',
    load: async () => (await import('./demo/demo.ts')).demo,
  },
  sim: { help: 'only the simulated API servers', load: async () => (await import('./sim.ts')).sim },
  health: { help: 'health of the objects in a file', load: async () => (await import('./files.ts')).health },
  diff: { help: 'difference of a live and a target object', load: async () => (await import('./files.ts')).diff },
  shards: {
    help: 'which shard each cluster is on, and what a change would move',
    load: async () => (await import('./shards/shards.ts')).shards,
  },
  manifests: { help: 'what a source renders to', load: async () => (await import('./manifests.ts')).manifests },
};

/** How long a second signal or a stuck stop is waited for before the process ends anyway. */
const lastResortMs = 10_000;

/**
 * The whole program: runs a command until it ends or a signal comes. An output that nobody reads ends the command as a
 * signal does; that may show after the command has ended, so the exit code is set then, too.
 */
export async function main(argv: readonly string[]): Promise<number> {
  const output = processOutput(process.env);
  const stop = new AbortController();
  let lastResort: Timer | undefined;
  let ended = false;
  let broken: number | undefined;
  const stopSoon = (exitCode: number): void => {
    if (ended || stop.signal.aborted) return;
    stop.abort(new Shutdown());
    lastResort = systemClock.timer(lastResortMs, () => process.exit(exitCode));
  };
  const onSignal = (): void => {
    if (stop.signal.aborted) process.exit(130);
    stopSoon(1);
  };
  onBrokenOutput((exitCode, message) => {
    broken = exitCode;
    process.exitCode = exitCode;
    if (message !== undefined) output.err(`driftless: ${message}`);
    stopSoon(exitCode);
  });
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  try {
    const exitCode = await perform(argv, { env: process.env, output, signal: stop.signal });
    return broken ?? exitCode;
  } finally {
    ended = true;
    lastResort?.cancel();
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
  }
}

/** A command line from its words to its exit code; what a command throws is one line on stderr. */
export async function perform(argv: readonly string[], context: Omit<CommandContext, 'argv'>): Promise<number> {
  const { output, signal } = context;
  try {
    return await dispatch(argv, context);
  } catch (error) {
    if (signal.aborted && error === signal.reason) return 0;
    output.err(`driftless: ${scrub(messageOf(error)).replaceAll('\n', ' ')}`);
    return error instanceof UsageError ? 2 : 1;
  }
}

async function dispatch(argv: readonly string[], context: Omit<CommandContext, 'argv'>): Promise<number> {
  const [name, ...rest] = argv;
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') {
    context.output.out(overview());
    return name === undefined ? 2 : 0;
  }
  if (name === 'version' || name === '--version') {
    context.output.out(packageVersion());
    return 0;
  }
  const entry = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (entry === undefined) {
    const near = nearest(name, Object.keys(commands));
    throw new UsageError(
      `unknown command "${name}"${near === undefined ? '' : `: did you mean ${near}?`} (driftless help lists all)`,
    );
  }
  const command = await entry.load();
  return command({ ...context, argv: rest });
}

function overview(): string {
  const rows = Object.entries(commands).map(([name, { help }]) => `  ${name.padEnd(12)}${help}`);
  return [
    'driftless: brings Kubernetes clusters to what Git says, and keeps them there',
    '',
    'usage: driftless COMMAND [FLAGS]     (driftless COMMAND --help shows the flags)',
    '',
    ...rows,
    `  ${'version'.padEnd(12)}the version`,
  ].join('\n');
}
