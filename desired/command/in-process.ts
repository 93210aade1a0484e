import type { Clock } from '#base';
import { CommandError } from '../errors.ts';
import { runProcess } from './run-process.ts';
import type { MemoryMeter, ProcessOutcome } from './run-process.ts';
import type { CommandOptions, CommandResult, CommandRunner } from './types.ts';

/** Variables that programs may inherit. Not HOME: no user configuration may affect a render. */
const inherited = [
  'PATH',
  'TMPDIR',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'SSH_AUTH_SOCK',
  'http_proxy',
  'https_proxy',
  'no_proxy',
  'all_proxy',
  'HTTPS_PROXY',
  'NO_PROXY',
  'ALL_PROXY',
] as const;

/** The part of an environment that programs may see. */
export function allowedEnvironment(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const result: Record<string, string> = {};
  for (const name of inherited) {
    const value = env[name];
    if (value !== undefined) result[name] = value;
  }
  return result;
}

/**
 * Runs programs as children of this process: for short-lived commands (driftless manifests) and
 * tests. A controller uses {@link startCommandHelper}, because a fork blocks a process in
 * proportion to its memory.
 */
export function createInProcessRunner(deps: {
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly meter?: MemoryMeter;
}): CommandRunner {
  const base = allowedEnvironment(deps.env);
  return {
    async runCommand(argv, options) {
      options.signal.throwIfAborted();
      const running = runProcess(requestOf(argv, options, base), (ms, fire) => deps.clock.timer(ms, fire), {
        meter: deps.meter,
        onKilled: options.onKilled,
      });
      const onAbort = (): void => running.kill();
      options.signal.addEventListener('abort', onAbort, { once: true });
      try {
        const outcome = await running.outcome;
        options.signal.throwIfAborted();
        return resultOf(options.program ?? argv[0] ?? '', outcome);
      } finally {
        options.signal.removeEventListener('abort', onAbort);
      }
    },
  };
}

/** The request as plain data; the command's own variables override `base`. */
export function requestOf(
  argv: readonly string[],
  options: CommandOptions,
  base: Readonly<Record<string, string>>,
): Parameters<typeof runProcess>[0] {
  return {
    argv: [...argv],
    ...(options.program === undefined ? {} : { program: options.program }),
    env: { ...base, ...options.env },
    timeoutMs: options.timeoutMs,
    ...(options.killDelayMs === undefined ? {} : { killDelayMs: options.killDelayMs }),
    maxBytes: options.maxBytes,
    ...(options.maxMemoryBytes === undefined ? {} : { maxMemoryBytes: options.maxMemoryBytes }),
    ...(options.disk === undefined ? {} : { disk: options.disk }),
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    ...(options.stdin === undefined ? {} : { stdin: options.stdin }),
    ...(options.stdinFile === undefined ? {} : { stdinFile: options.stdinFile }),
  };
}

/** @throws CommandError for everything except an exit */
export function resultOf(program: string, outcome: ProcessOutcome): CommandResult {
  if (outcome.kind === 'exit') return { exitCode: outcome.exitCode, stdout: outcome.stdout, stderr: outcome.stderr };
  switch (outcome.kind) {
    case 'not-found':
      throw new CommandError('COMMAND_NOT_FOUND', `cannot run ${program}: it is not installed, or not on PATH`);
    case 'timeout':
      throw new CommandError('COMMAND_TIMEOUT', outcome.message);
    case 'memory':
      throw new CommandError('COMMAND_MEMORY', outcome.message);
    case 'disk':
      throw new CommandError('COMMAND_DISK', outcome.message);
    case 'output':
      throw new CommandError('COMMAND_OUTPUT', outcome.message);
    case 'failed':
    case 'killed':
      throw new CommandError('COMMAND_FAILED', `cannot run ${program}: ${outcome.message}`);
  }
}
