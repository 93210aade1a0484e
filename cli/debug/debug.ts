import { systemClock, UsageError, withDeadline } from '#base';
import { askDebugSocket } from '#telemetry';
import { describe, readArgs } from '../options/args.ts';
import type { CommandContext } from '../process/command.ts';
import { help } from '../options/common-options.ts';
import { runOptions } from '../options/run-options.ts';
import { debugSocketOf, ownNames } from './debug-paths.ts';

/** The options of `driftless run`: in its pod the environment is the same. */
const options = {
  debugSocket: {
    ...runOptions.debugSocket,
    help: "Path of the controller's Unix socket. Empty: debug/state.sock in the cache directory.",
  },
  cacheDir: { ...runOptions.cacheDir, help: 'Cache directory of the controller.' },
  hostname: { ...runOptions.hostname, help: 'Name of the replica.' },
  help,
} as const;

const debugTimeoutMs = 30_000;

/**
 * `driftless debug state`: prints the current state of the controller in this pod or machine as one
 * line of JSON.
 */
export async function debug({ argv, env, output, signal }: CommandContext): Promise<number> {
  const { config, positionals } = readArgs(options, argv, env);
  if (config.help) {
    output.out(`usage: driftless debug state [FLAGS]\n\n${describe(options)}`);
    return 0;
  }
  const [what = '', ...rest] = positionals;
  if (what !== 'state' || rest.length > 0) throw new UsageError('usage: driftless debug state [FLAGS]');
  const path = debugSocketOf({ ...config, ...ownNames(config) });
  const deadline = { clock: systemClock, limitMs: debugTimeoutMs, what: `asking the controller at ${path}` };
  output.out(await withDeadline(signal, deadline, (inner) => askDebugSocket(path, inner)));
  return 0;
}
