import { runGroups, systemClock } from '#base';
import { azureWorkloadOf, pluginConfigOf, proxySettingsOf, startCommandHelper } from '#desired';
import type { CommandHelper, Renderer } from '#desired';
import type { LoadedConnection } from '#kube';
import type { ClusterConnection } from '#model';
import type { RedisSettings } from '#publish';
import type { Logger } from '#telemetry';
import { CalmCollection, ownProcess } from '../process/calm-collection.ts';
import { ownNames } from '../process/replica-paths.ts';
import type { RunConfig } from '../options/run-options.ts';
import type { CommandContext } from '../process/command.ts';
import { rendererOf } from '../render/renderer.ts';
import { apiListener } from './api-listener.ts';
import { wireShadow } from './assemble-shadow.ts';
import { wire } from './assemble.ts';
import type { WireInputs } from './infrastructure.ts';
import { pluginExclusions } from './desired-limits.ts';
import { healthScriptsOnDemand } from './health-scripts.ts';
import { withoutSecrets } from './hub-connection.ts';
import { controllerOptionNames } from './option-names.ts';
import type { OptionNames } from './option-names.ts';
import { rendersHere } from './repo-server.ts';
import { sourceReach } from './source-reach.ts';
import { tracingOf } from './telemetry/tracing.ts';

/** Time after which a stop that is stuck is abandoned. */
const stopGraceMs = 8000;

/** Processes that read and render sources beside the controller. */
export interface SourceHelpers {
  readonly commands: CommandHelper;
  /** Undefined: a repo-server renders. */
  readonly renderer: Renderer | undefined;
}

export interface ReplicaParts extends SourceHelpers {
  /** With this replica's own names and storage of health. */
  readonly config: RunConfig;
  readonly env: CommandContext['env'];
  readonly logger: Logger;
  readonly hub: LoadedConnection;
  /** Opens a hub in this process, instead of `hub`. */
  readonly openHub?: WireInputs['openHub'];
  /** The cluster behind `https://kubernetes.default.svc`; the hub itself if absent. */
  readonly inCluster?: ClusterConnection;
  readonly redis: RedisSettings | undefined;
  /** Kept with the settings, for a later start. */
  readonly keptAnnotations?: WireInputs['keptAnnotations'];
  /** Already open; undefined: the replica opens the port of its metrics. */
  readonly telemetry?: WireInputs['telemetry'];
  /** Wraps the clients of managed clusters, to refuse writes. */
  readonly wrapClient?: WireInputs['wrapClient'];
  /** Limits the watches to some kinds. */
  readonly kindsInUse?: WireInputs['kindsInUse'];
  /** Replaces limits of sources. */
  readonly sourceLimits?: WireInputs['sourceLimits'];
  /** Default: those of the controller. */
  readonly names?: OptionNames;
}

export interface SourceHelperOptions {
  readonly logger: Logger;
  readonly isQuiet?: boolean;
  /** Each process starts when it is needed, and ends after it was idle for this long. */
  readonly idleLimitMs?: number;
}

/**
 * Starts the helper processes, unless they have an idle limit. Call it while the process is small:
 * a fork copies the page tables and stalls a large process.
 */
export function startSourceHelpers(
  config: RunConfig,
  env: CommandContext['env'],
  { logger, isQuiet = false, idleLimitMs }: SourceHelperOptions,
): SourceHelpers {
  const idle = idleLimitMs === undefined ? undefined : { clock: systemClock, limitMs: idleLimitMs };
  const commands = startCommandHelper({ logger, env, idle });
  const place = {
    logger,
    isQuiet,
    idleLimitMs,
    folder: ownNames(config).cacheDir,
    path: env['PATH'],
    logFormat: config.logFormat as 'json',
  };
  return { commands, renderer: rendersHere(config) ? rendererOf(config, place) : undefined };
}

/** Runs one replica until `signal` aborts and everything has stopped. */
export async function runReplica({ config, env, ...parts }: ReplicaParts, signal: AbortSignal): Promise<void> {
  const { hub, logger, names = controllerOptionNames } = parts;
  const inputs = {
    ...parts,
    names,
    config: withoutSecrets(config),
    healthScripts: healthScriptsOnDemand(config.healthScripts),
    azureWorkload: azureWorkloadOf(env),
    proxies: proxySettingsOf(env),
    plugins: {
      ...pluginConfigOf(env),
      exclusions: pluginExclusions(config.pluginTarExclusions),
      usesGeneratePaths: config.pluginGeneratePaths,
    },
    reach: sourceReach(config, { hub: hub.connection, env }),
    tracing: await tracingOf(config, { env, logger, hostname: config.hostname }),
    api: await apiListener(config, systemClock.now(), logger),
  };
  const groups = config.shadow ? wireShadow(inputs) : wire(inputs);
  const collection = new CalmCollection({ clock: systemClock, logger, process: ownProcess() });
  await runGroups([[collection], ...groups], signal, { clock: systemClock, graceMs: stopGraceMs });
}
