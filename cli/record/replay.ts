import { systemClock, UsageError } from '#base';
import { JqRunner, replayRecording } from '#controller';
import type { ReplayedPass, ReplayTools } from '#controller';
import type { HealthScripts, Settings } from '#model';
import { printHelp, readArgs } from '../options/args.ts';
import { help, output as outputOption } from '../options/common-options.ts';
import { runOptions } from '../options/run-options.ts';
import type { CommandContext } from '../process/command.ts';
import type { CommandOutput } from '../process/output.ts';
import { loadHealthScripts } from '../run/health-scripts.ts';
import { recordingLines } from './recording-lines.ts';
import { passLines, singleLine } from './replay-lines.ts';

const options = {
  healthScripts: runOptions.healthScripts,
  output: outputOption,
  help,
} as const;

const usage = 'usage: driftless replay FILE|- [FLAGS]';
/** As --ignore-normalizer-jq-execution-timeout-seconds. */
const jqLimitMs = 1000;
const differentExitCode = 5;

/**
 * `driftless replay`: decides each pass of a recording again, offline, and shows where this version
 * decides differently. Exit codes: 0 all the same; 5 different; 1 unreadable; 2 wrong usage.
 */
export async function replay({ argv, env, output, signal }: CommandContext): Promise<number> {
  const { config, positionals } = readArgs(options, argv, env);
  if (config.help)
    return printHelp(output, `${usage}\n\nExit codes: 0 all the same, 5 different, 1 unreadable.`, options);
  const [path, ...more] = positionals;
  if (path === undefined || more.length > 0) throw new UsageError(usage);
  const jq = new JqRunner({ clock: systemClock }, { limitMs: jqLimitMs });
  try {
    const tools = { jq, healthScripts: compiledOnce(await loadHealthScripts(config.healthScripts)) };
    return await replayFile(
      recordingLines(path, process.stdin),
      { tools, output, isJson: config.output === 'json' },
      signal,
    );
  } finally {
    await jq.close();
  }
}

/** Scripts of equal overrides are compiled once, and remember which of them are too expensive. */
function compiledOnce(compile: ReplayTools['healthScripts']): ReplayTools['healthScripts'] {
  const known = new WeakMap<Settings['overrides'], HealthScripts>();
  return (overrides) => {
    const scripts = known.get(overrides) ?? compile(overrides);
    known.set(overrides, scripts);
    return scripts;
  };
}

export interface ReplayContext {
  readonly tools: ReplayTools;
  readonly output: Pick<CommandOutput, 'out'>;
  readonly isJson: boolean;
}

interface ReplayCounts {
  passes: number;
  different: number;
  inexact: number;
}

/** Prints each pass as it is replayed, then the sum. */
export async function replayFile(
  lines: AsyncIterable<string>,
  { tools, output, isJson }: ReplayContext,
  signal: AbortSignal,
): Promise<number> {
  const counts: ReplayCounts = { passes: 0, different: 0, inexact: 0 };
  for await (const item of replayRecording(lines, tools, signal)) {
    if (item.kind === 'pass') {
      count(counts, item.pass);
      for (const line of isJson ? [jsonLine(item.pass)] : passLines(item.pass)) output.out(line);
    } else if (isJson) output.out(JSON.stringify(item));
    else if (item.kind === 'gap') output.out(singleLine(item.message));
    else {
      const { application, version, replica, time } = item.header;
      output.out(singleLine(`${application}, recorded by Driftless ${version} on ${replica} at ${time}`));
    }
  }
  output.out(isJson ? JSON.stringify({ kind: 'sum', ...counts }) : sumLine(counts));
  return counts.different > 0 ? differentExitCode : 0;
}

function count(counts: ReplayCounts, { differences, inexact }: ReplayedPass): void {
  counts.passes += 1;
  if (differences.length === 0) return;
  if (inexact.length > 0) counts.inexact += 1;
  else counts.different += 1;
}

function jsonLine({ type, now, line, differences, inexact, replayed }: ReplayedPass): string {
  return JSON.stringify(
    { kind: 'pass', type, time: new Date(now).toISOString(), line, differences, inexact, replayed },
    bigintAsText,
  );
}

function bigintAsText(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}

function sumLine({ passes, different, inexact }: ReplayCounts): string {
  const same = passes - different - inexact;
  const rest = inexact === 0 ? '' : `; ${inexact} cannot be judged, because their inputs are not recorded in full`;
  return `${passes} passes: this version decides ${same} the same and ${different} differently${rest}`;
}
