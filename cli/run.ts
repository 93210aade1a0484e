import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseGoBool, runGroups, Shutdown, systemClock, UsageError, withChild } from '#base';
import { azureWorkloadOf, createToolLookup, pluginConfigOf, proxiesOf, startCommandHelper } from '#desired';
import { createLogger } from '#telemetry';
import { describe, readArgs } from './args.ts';
import type { CommandContext } from './command.ts';
import { loadHealthScripts } from './health-scripts.ts';
import { hubConnection, withoutSecrets } from './hub-connection.ts';
import { runOptions } from './options.ts';
import type { RunConfig } from './options.ts';
import { healthPlace, redisSettings } from './redis.ts';
import { wireShadow } from './assemble-shadow.ts';
import { wire } from './assemble.ts';

/** How long stopping may take before the process ends anyway. */
const graceMs = 8000;

/** `driftless run`: the controller, until a signal ends it. */
export async function run({ argv, env, output, signal }: CommandContext): Promise<number> {
  const { config, warnings, positionals, given } = readArgs(runOptions, argv, env);
  if (config.help) {
    output.out(`usage: driftless run [FLAGS]\n\n${describe(runOptions)}`);
    return 0;
  }
  if (positionals.length > 0) throw new UsageError(`run takes flags only, not "${positionals[0] ?? ''}"`);
  const logger = createLogger({ level: config.logLevel as 'info', format: config.logFormat as 'json' });
  for (const warning of warnings) logger.warn(warning);
  const redis = redisSettings(config, env, names(config).hostname);
  // Before anything grows: a fork copies the page tables of the parent, and a big one stalls.
  const commands = startCommandHelper({ logger, env });
  const hub = await hubConnection(config, env);
  const healthScripts = await loadHealthScripts(config.healthScripts);
  await withChild(signal, async (inner, stop) => {
    const withParent = env['DRIFTLESS_EXIT_WITH_PARENT'] === 'true';
    const release = withParent ? stopWhenInputEnds(() => stop(new Shutdown('the parent is gone'))) : () => undefined;
    const tools = createToolLookup({ path: env['PATH'] });
    const own = { ...withoutSecrets(config), ...names(config), ...healthPlace(config, given, redis !== undefined) };
    const submodules = parseGoBool(env['ARGOCD_GIT_MODULES_ENABLED'] ?? '') !== false;
    const azureWorkload = azureWorkloadOf(env);
    const reach = { submodules, azureWorkload, tools, proxies: proxiesOf(env), plugins: pluginConfigOf(env) };
    const inputs = { config: own, hub, commands, logger, redis, ...reach, healthScripts };
    const groups = config.shadow ? wireShadow(inputs) : wire(inputs);
    await runGroups(groups, inner, { clock: systemClock, graceMs }).finally(release);
  });
  logger.info('stopped');
  return 0;
}

function names(config: RunConfig): { readonly hostname: string; readonly cacheDir: string } {
  const host = config.hostname === '' ? hostname() : config.hostname;
  return { hostname: host, cacheDir: config.cacheDir === '' ? join(tmpdir(), 'driftless', host) : config.cacheDir };
}

/** A demo's replica must not outlive the demo, whatever ends that. Returns how to stop listening: open input keeps a process alive. */
function stopWhenInputEnds(stop: () => void): () => void {
  process.stdin.resume();
  process.stdin.on('end', stop).on('close', stop).on('error', stop);
  return () => {
    process.stdin.off('end', stop).off('close', stop).off('error', stop).destroy();
  };
}
