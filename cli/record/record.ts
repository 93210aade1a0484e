import type { RecordingResponse } from '#api';
import { DriftlessError, systemClock, systemRandom, UsageError } from '#base';
import type { Clock, RandomSource } from '#base';
import { applicationOf } from '../explain/explain.ts';
import { printHelp, readArgs } from '../options/args.ts';
import { help } from '../options/common-options.ts';
import type { CommandContext } from '../process/command.ts';
import type { ApiReader } from '../read-api/api-reader.ts';
import { applicationNamespace, readApiOptions, withReader } from '../read-api/connect.ts';
import { readApiDefaults } from '../read-api/defaults.ts';
import { ReadApiError } from '../read-api/proxy-reader.ts';

const options = {
  namespace: applicationNamespace,
  for: { flag: 'for', kind: 'duration', default: 600_000, min: 1000, help: 'How long to record, at most an hour.' },
  last: {
    flag: 'last',
    kind: 'bool',
    help: 'Write the last passes that the owner keeps, and do not wait for others.',
  },
  ...readApiOptions,
  help,
} as const;

const usage = 'usage: driftless record NAME [--for 10m | --last] [FLAGS] > FILE';

/** How often new lines are read, and how long no replica may answer. */
const pollMs = 1000;
const patienceMs = 30_000;

/**
 * `driftless record`: writes what the passes of an Application read and decide, masked, as a file
 * for `driftless replay`. Exit codes: 0 written; 1 no answer; 2 wrong usage.
 */
export async function record({ argv, env, output, signal }: CommandContext): Promise<number> {
  const { config, positionals, given } = readArgs(options, argv, env);
  if (config.help) return printHelp(output, usage, options);
  const [name, ...more] = positionals;
  if (name === undefined || more.length > 0) throw new UsageError(usage);
  if (config.last && given.has('for')) throw new UsageError('--last and --for cannot be given together');
  const application = applicationOf(name, config.namespace, config.controllerNamespace);
  const written = await withReader(config, readApiDefaults(env), signal, (reader) =>
    readRecording(
      {
        reader,
        clock: systemClock,
        random: systemRandom,
        out: (line) => output.out(line),
        progress: (line) => output.progress(line),
      },
      { application, isLast: config.last, forMs: config.for },
      signal,
    ),
  );
  output.err(`${written.passes} passes of ${application.namespace}/${application.name}, ${written.end}`);
  return 0;
}

export interface RecordDeps {
  readonly reader: ApiReader;
  readonly clock: Pick<Clock, 'monotonic' | 'sleep'>;
  readonly random: Pick<RandomSource, 'uuid'>;
  readonly out: (line: string) => void;
  readonly progress: (line: string) => void;
}

export interface RecordedRequest {
  readonly application: { readonly namespace: string; readonly name: string };
  readonly isLast: boolean;
  readonly forMs: number;
}

/** Reads a recording piece by piece, from whichever replica owns the Application. */
export async function readRecording(
  deps: RecordDeps,
  { application, isLast, forMs }: RecordedRequest,
  signal: AbortSignal,
): Promise<{ readonly passes: number; readonly end: string }> {
  const { clock, random, out, progress } = deps;
  const { namespace, name } = application;
  const place = `/applications/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}/recording`;
  const recording = random.uuid();
  const until = clock.monotonic() + forMs;
  let [after, passes, end] = ['', 0, undefined as string | undefined];
  while (end === undefined) {
    const isOver = clock.monotonic() >= until;
    const query = new URLSearchParams({ recording, ...(isLast ? { last: 'true' } : {}), after });
    const { lines, next, end: said } = await patientPiece(deps, `${place}?${query.toString()}`, signal);
    for (const line of lines) {
      out(line);
      if (line.startsWith('{"type":"refresh"') || line.startsWith('{"type":"operation"')) passes += 1;
    }
    after = next;
    end = said ?? (isOver && lines.length === 0 ? 'its time is over' : undefined);
    progress(`${passes} passes`);
    if (end === undefined && lines.length === 0) await clock.sleep(pollMs, signal);
  }
  return { passes, end };
}

/** Waits while the owner changes, or its replica restarts. */
async function patientPiece(
  { reader, clock, progress }: RecordDeps,
  path: string,
  signal: AbortSignal,
): Promise<RecordingResponse['recording']> {
  const until = clock.monotonic() + patienceMs;
  for (;;) {
    try {
      const page = await reader.get(path);
      if (page === undefined) throw new NothingToRecord();
      return (page as RecordingResponse).recording;
    } catch (error) {
      if (!(error instanceof ReadApiError) || clock.monotonic() >= until) throw error;
      progress(`waiting: ${error.message}`);
      await clock.sleep(pollMs, signal);
    }
  }
}

class NothingToRecord extends DriftlessError {
  constructor() {
    super('RECORD_NOT_FOUND', 'there is no such Application that you may read, or its replica cannot record yet', {
      retry: 'never',
    });
  }
}
