import { messageOf, newAbortController, outsideText, Shutdown, systemClock, UsageError } from '#base';
import type { Timer } from '#base';
import { nearest } from './args.ts';
import type { Command, CommandContext } from './command.ts';
import { onBrokenOutput, processOutput } from './output.ts';
import { packageVersion } from './root.ts';

interface Entry {
  readonly help: string;
  readonly load: () => Promise<Command>;
}

type Entries = Readonly<Record<string, Entry>>;

/** What people come for, in the order of a first week. Commands load their code when they are called: `--version` must not pay for the controller. */
const groups: readonly { readonly title: string; readonly commands: Entries }[] = [
  {
    title: 'Try it on this machine, with nothing else installed',
    commands: {
      demo: {
        help: 'a simulated hub and clusters, sample repositories, replicas and the dashboard',
        load: async () => (await import('./demo/demo.ts')).demo,
      },
      sim: { help: 'only the simulated API servers', load: async () => (await import('./sim.ts')).sim },
    },
  },
  {
    title: 'Look before you switch from Argo CD',
    commands: {
      preflight: {
        help: 'what would differ if this controller took over; changes nothing',
        load: async () => (await import('./preflight/preflight.ts')).preflight,
      },
    },
  },
  {
    title: 'Run it',
    commands: {
      run: {
        help: 'the controller (--shadow: beside the one in charge, comparing only)',
        load: async () => (await import('./run.ts')).run,
      },
      shards: {
        help: 'which shard each cluster is on, and what a change would move',
        load: async () => (await import('./shards/shards.ts')).shards,
      },
    },
  },
  {
    title: 'Ask what it would do with files of yours',
    commands: {
      manifests: { help: 'what a source renders to', load: async () => (await import('./manifests.ts')).manifests },
      diff: { help: 'difference of a live and a target object', load: async () => (await import('./files.ts')).diff },
      health: { help: 'health of the objects in a file', load: async () => (await import('./files.ts')).health },
    },
  },
];

const commands = Object.fromEntries(groups.flatMap((group) => Object.entries(group.commands))) as Entries;

/** How long a second signal or a stuck stop is waited for before the process ends anyway. */
const lastResortMs = 10_000;

/**
 * The whole program: runs a command until it ends or a signal comes. An output that nobody reads ends the command as a
 * signal does; that may show after the command has ended, so the exit code is set then, too.
 */
export async function main(argv: readonly string[]): Promise<number> {
  const output = processOutput(process.env);
  const stop = newAbortController();
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
    output.err(`driftless: ${outsideText('field', messageOf(error)).replaceAll('\n', ' ')}`);
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
  const row = ([name, { help }]: readonly [string, Entry]): string => `  ${name.padEnd(12)}${help}`;
  const sections = groups.map(({ title, commands: listed }) => [title, ...Object.entries(listed).map(row)].join('\n'));
  return [
    'driftless: brings Kubernetes clusters to what Git says, and keeps them there',
    'usage: driftless COMMAND [FLAGS]     (driftless COMMAND --help shows the flags)',
    ...sections,
    `Other\n  ${'version'.padEnd(12)}the version`,
  ].join('\n\n');
}
