import { messageOf, Shutdown, UsageError, withChild } from '#base';
import { createLogger } from '#telemetry';
import type { Logger, LogOptions } from '#telemetry';
import { printHelp, readArgs } from '../options/args.ts';
import type { CommandContext } from '../process/command.ts';
import { fitHeap } from '../process/heap.ts';
import { ownNames } from '../process/replica-paths.ts';
import { hubConnection } from './hub-connection.ts';
import { loadParameters } from './kept-parameters.ts';
import { runOptions } from '../options/run-options.ts';
import type { RunConfig } from '../options/run-options.ts';
import { healthStorage, redisSettings } from './redis.ts';
import { runReplica, startSourceHelpers } from './replica.ts';
import type { ReplicaParts } from './replica.ts';

/** `driftless run`: runs the controller until a signal stops it. */
export async function run({ argv, env, output, signal }: CommandContext): Promise<number> {
  const { config, warnings, positionals } = readArgs(runOptions, argv, env);
  if (config.help) return printHelp(output, 'usage: driftless run [FLAGS]', runOptions);
  if (positionals.length > 0) throw new UsageError(`run takes flags only, not "${positionals[0] ?? ''}"`);
  const logger = createLogger(logOptions(config, env));
  for (const warning of warnings) logger.warn(warning);
  try {
    await runLogged({ argv, config, env, logger }, signal);
  } catch (error) {
    // Wrong usage is for the person at the terminal; all else belongs to the log.
    if (error instanceof UsageError || signal.aborted) throw error;
    logger.error('The controller ends', { error: messageOf(error) });
    return 1;
  }
  logger.info('stopped');
  return 0;
}

interface LoggedRun extends Pick<CommandContext, 'argv' | 'env'> {
  readonly config: RunConfig;
  readonly logger: Logger;
}

async function runLogged({ argv, config, env, logger }: LoggedRun, signal: AbortSignal): Promise<void> {
  const { warning: heapWarning, ...heap } = fitHeap(env);
  logger.info('Sized the heap', { ...heap });
  if (heapWarning !== undefined) logger.warn(heapWarning);
  const redis = redisSettings(config, env, ownNames(config).hostname);
  const helpers = startSourceHelpers(config, env, { logger });
  const hub = await hubConnection(config, env);
  await withChild(signal, async (inner, stop) => {
    const withParent = env['DRIFTLESS_EXIT_WITH_PARENT'] === 'true';
    const release = withParent ? stopWhenInputEnds(() => stop(new Shutdown('the parent is gone'))) : () => undefined;
    await runStarted({ argv, env, hub, redis, logger, ...helpers }, config, inner).finally(release);
  });
}

/** Runs the replica with the parameters in force (kept-parameters.ts). */
async function runStarted(
  { argv, ...parts }: Omit<ReplicaParts, 'config'> & Pick<CommandContext, 'argv'>,
  { namespace, shadow }: RunConfig,
  signal: AbortSignal,
): Promise<void> {
  const { env, redis } = parts;
  const { variables, keptAnnotations } = await loadParameters({ ...parts, namespace, shadow }, signal);
  const { config, given } = readArgs(runOptions, argv, { ...env, ...variables });
  const effective = { ...config, ...ownNames(config), ...healthStorage(config, given, redis !== undefined) };
  await runReplica({ ...parts, config: effective, keptAnnotations }, signal);
}

/** Colors as in Argo CD: on a terminal, or wherever they are forced. */
function logOptions(config: RunConfig, env: CommandContext['env']): LogOptions {
  return {
    level: config.logLevel as 'info',
    format: config.logFormat as 'json',
    timestamp: config.logTimestamp,
    isColored: process.stdout.isTTY || env['FORCE_LOG_COLORS'] === '1',
    hasFullTimestamp: env['ARGOCD_LOG_FORMAT_ENABLE_FULL_TIMESTAMP'] === '1',
  };
}

/**
 * Stops a replica of the demo when the demo ends for any reason. Returns a function that stops
 * listening: an open stdin keeps the process alive.
 */
function stopWhenInputEnds(stop: () => void): () => void {
  process.stdin.resume();
  process.stdin.on('end', stop).on('close', stop).on('error', stop);
  return () => {
    process.stdin.off('end', stop).off('close', stop).off('error', stop).destroy();
  };
}
