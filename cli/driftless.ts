import { messageOf, newAbortController, outsideText, Shutdown, systemClock, UsageError } from '#base';
import type { ClockTimer } from '#base';
import { nearest } from './options/args.ts';
import type { CompletedCommand } from './commands/completion.ts';
import type { Command, CommandContext } from './process/command.ts';
import { onBrokenOutput, processOutput } from './process/output.ts';
import { packageVersion } from './process/root.ts';

interface CommandEntry {
  readonly help: string;
  readonly load: () => Promise<Command>;
}

type CommandEntries = Readonly<Record<string, CommandEntry>>;

/**
 * Commands in the order of a first week. Their code is loaded when they are called, so that
 * `--version` does not load the controller.
 */
const commandGroups: readonly { readonly title: string; readonly commands: CommandEntries }[] = [
  {
    title: 'Try it on this machine, without a cluster:',
    commands: {
      demo: {
        help: 'Run a simulated hub, clusters, sample repositories, replicas and a dashboard',
        load: async () => (await import('./demo/demo.ts')).demo,
      },
      sim: { help: 'Run only the simulated API servers', load: async () => (await import('./simulation/sim.ts')).sim },
    },
  },
  {
    title: 'Check before you switch from Argo CD:',
    commands: {
      preflight: {
        help: 'Report what would differ if Driftless took over; changes nothing',
        load: async () => (await import('./preflight/preflight.ts')).preflight,
      },
    },
  },
  {
    title: 'Run it:',
    commands: {
      run: {
        help: 'Run the controller (--shadow: only compare, alongside the active controller)',
        load: async () => (await import('./run/run.ts')).run,
      },
      agent: {
        help: 'Keep one cluster equal to one folder of Git, without CRDs',
        load: async () => (await import('./agent/agent.ts')).agent,
      },
      render: {
        help: 'Run the renderer: helm, kustomize and jsonnet for controllers, without credentials',
        load: async () => (await import('./render/render.ts')).render,
      },
      shards: {
        help: 'Show the shard of each cluster, and what a change would move',
        load: async () => (await import('./shards/shards.ts')).shards,
      },
      explain: {
        help: 'Explain an Application, cluster, repository or replica: owner, differences, what it waits for',
        load: async () => (await import('./explain/explain.ts')).explain,
      },
      top: {
        help: 'Show what Applications, clusters, kinds, repositories or projects cost',
        load: async () => (await import('./top/top.ts')).top,
      },
      admin: {
        help: 'Write and compare the results of all Applications, in the files of argocd admin',
        load: async () => (await import('./admin/admin.ts')).admin,
      },
      record: {
        help: 'Record what the passes of an Application read and decide, for a bug report',
        load: async () => (await import('./record/record.ts')).record,
      },
    },
  },
  {
    title: 'Act on an Application, with your own kubeconfig:',
    commands: {
      refresh: {
        help: 'Compare an Application with what Git says now',
        load: async () => (await import('./operate/commands.ts')).refresh,
      },
      sync: {
        help: 'Sync an Application',
        load: async () => (await import('./operate/commands.ts')).sync,
      },
      rollback: {
        help: 'Sync an Application to an earlier deployment',
        load: async () => (await import('./operate/commands.ts')).rollback,
      },
      terminate: {
        help: 'End the operation of an Application',
        load: async () => (await import('./operate/commands.ts')).terminate,
      },
    },
  },
  {
    title: 'Check local files:',
    commands: {
      manifests: { help: 'Render a source', load: async () => (await import('./commands/manifests.ts')).manifests },
      diff: {
        help: 'Compare a live and a target object',
        load: async () => (await import('./commands/files.ts')).diff,
      },
      replay: {
        help: 'Decide the passes of a recording again, and show where this version decides differently',
        load: async () => (await import('./record/replay.ts')).replay,
      },
      health: {
        help: 'Show the health of the objects in a file',
        load: async () => (await import('./commands/files.ts')).health,
      },
    },
  },
  {
    title: 'Set up your shell:',
    commands: {
      completion: {
        help: 'Print a script that completes commands and flags in bash, zsh or fish',
        load: async () => (await import('./commands/completion.ts')).completionOf(completedCommands),
      },
    },
  },
];

const commands = Object.fromEntries(commandGroups.flatMap((group) => Object.entries(group.commands))) as CommandEntries;

function completedCommands(): readonly CompletedCommand[] {
  return Object.entries(commands).map(([name, { help, load }]) => ({ name, help, load }));
}

/** Time after which a stop that is stuck ends the process. */
const forcedExitMs = 10_000;

/**
 * Runs a command until it ends or a signal arrives. A closed stdout stops the command as a signal
 * does; that may show after the command has ended, so the exit code is set then, too.
 */
export async function main(argv: readonly string[]): Promise<number> {
  const output = processOutput(process.env);
  const stop = newAbortController();
  let lastResort: ClockTimer | undefined;
  let ended = false;
  let broken: number | undefined;
  const stopSoon = (exitCode: number): void => {
    if (ended || stop.signal.aborted) return;
    stop.abort(new Shutdown());
    lastResort = systemClock.timer(forcedExitMs, () => process.exit(exitCode));
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
    const exitCode = await runCommandLine(argv, { env: process.env, output, signal: stop.signal });
    return broken ?? exitCode;
  } finally {
    ended = true;
    lastResort?.cancel();
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
  }
}

/** Runs a command line and returns its exit code. An error becomes one line on stderr. */
export async function runCommandLine(argv: readonly string[], context: Omit<CommandContext, 'argv'>): Promise<number> {
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
  if (name === 'help' && rest[0] !== undefined) return dispatch([...rest, '--help'], context);
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
      `unknown command "${name}"${near === undefined ? '' : `: did you mean ${near}?`} (run "driftless help" for a list)`,
    );
  }
  const command = await entry.load();
  return command({ ...context, argv: rest });
}

function overview(): string {
  const row = ([name, { help }]: readonly [string, CommandEntry]): string => `  ${name.padEnd(12)}${help}`;
  const sections = commandGroups.map(({ title, commands: listed }) =>
    [title, ...Object.entries(listed).map(row)].join('\n'),
  );
  return [
    'driftless keeps Kubernetes clusters in sync with Git.',
    'Usage: driftless COMMAND [FLAGS]\n\nUse "driftless help COMMAND" for the flags of a command.',
    ...sections,
    `Other commands:\n  ${'version'.padEnd(12)}Print the version`,
  ].join('\n\n');
}
