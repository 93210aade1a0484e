import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { join } from 'node:path';
import {
  formatGoDuration,
  messageOf,
  newAbortController,
  Shutdown,
  sleepOn,
  systemClock,
  systemRandom,
  untilAborted,
  UsageError,
  withChild,
  withDeadline,
} from '#base';
import { createKubeClient } from '#kube';
import type { KubeClient, LoadedConnection } from '#kube';
import { KindsInUse } from '#live';
import { createLogger } from '#telemetry';
import type { HealthReport, Logger } from '#telemetry';
import { printHelp, readArgs } from '../options/args.ts';
import { runOptions } from '../options/run-options.ts';
import type { RunConfig } from '../options/run-options.ts';
import type { CommandContext } from '../process/command.ts';
import { loadConnection } from '../process/hub.ts';
import type { CommandOutput } from '../process/output.ts';
import { packageVersion } from '../process/root.ts';
import { runReplica, startSourceHelpers } from '../run/replica.ts';
import type { SourceHelpers } from '../run/replica.ts';
import type { OptionNames } from '../run/option-names.ts';
import { createMetrics } from '../run/telemetry/metrics.ts';
import { TelemetryPort } from '../run/telemetry/telemetry-port.ts';
import { AgentRecord } from './agent-record.ts';
import { fencedClient } from './fenced-client.ts';
import { sourceIdOf } from './identity.ts';
import { asComparedWith, followRevision } from './kept-revision.ts';
import type { KeptRevision } from './kept-revision.ts';
import { FormerLease } from './former-lease.ts';
import { hubClient, hubServer } from './hub-client.ts';
import { agentNamespace, hubObjects } from './hub-objects.ts';
import type { AgentPlan } from './hub-objects.ts';
import { HubStore } from './hub-store.ts';
import { agentOptions } from './options.ts';
import type { AgentConfig } from './options.ts';
import { cacheFolder, originOf, planOf, repositoryFolder, sourceOf } from './plan.ts';
import type { AgentSource } from './plan.ts';
import { followState, requestRefresh, settledOrReason, stateLine } from './progress.ts';
import type { AgentState } from './progress.ts';
import { SourceImport } from './source-import.ts';

const agentOptionNames: OptionNames = {
  sources: { localSources: `--${agentOptions.allowLocalSources.flag}` },
  memoryRemedy: `exclude kinds in the file of --${agentOptions.configFile.flag}`,
};
const releaseMs = 3000;
/** How long the processes for git and for rendering stay after their last use. */
const idleLimitMs = 10_000;

/**
 * `driftless agent`: keeps one cluster equal to one folder, without CRDs. The controller runs
 * against a hub in this process that holds one Application.
 */
export async function agent({ argv, env, output, signal }: CommandContext): Promise<number> {
  const { config, warnings, positionals } = readArgs(agentOptions, argv, env);
  if (config.help) return printHelp(output, 'usage: driftless agent --repo URL --path FOLDER [FLAGS]', agentOptions);
  if (positionals.length > 0) throw new UsageError(`agent takes flags only, not "${positionals[0] ?? ''}"`);
  const source = sourceOf(config);
  const target = await loadConnection(config.kubeconfig, config.context);
  const plan = planOf(config, source);
  for (const warning of warnings) output.err(`driftless: ${warning}`);
  return new Agent({ config, env, output, plan, source, target }).run(signal);
}

interface AgentParts {
  readonly config: AgentConfig;
  readonly env: CommandContext['env'];
  readonly output: CommandOutput;
  readonly plan: AgentPlan;
  readonly source: AgentSource;
  readonly target: LoadedConnection;
}

/**
 * How long the refs of the repository are kept: shorter than the time between two resyncs, which
 * may be a second under the interval, so that each of them asks the repository.
 */
function refsTtlMs(intervalMs: number): number {
  return Math.max(0, Math.min(intervalMs / 2, intervalMs - 1000));
}

/** The parts of a process that keeps its folder. */
interface AgentRun {
  readonly replica: RunConfig;
  readonly helpers: SourceHelpers;
  readonly telemetry: TelemetryPort;
  readonly record: AgentRecord;
  /** Mark of the objects. */
  readonly mark: string;
  /** Identifies the source and the version that is followed. */
  readonly sourceId: string;
  /** The commit that the record names, if this process may repair drift by it. */
  readonly kept: KeptRevision | undefined;
}

class Agent {
  readonly #parts: AgentParts;
  readonly #logger: Logger;
  readonly #source: SourceImport;
  /** As the probes show it, until the replica reports for itself. */
  #waitsFor = 'starting: reading the record of this agent';
  /** Has the source read now. */
  #refresh = (): void => undefined;

  constructor(parts: AgentParts) {
    this.#parts = parts;
    const { source, config, plan } = parts;
    const { logLevel, output } = config;
    this.#source = new SourceImport(source, repositoryFolder(config, plan.name));
    this.#logger = createLogger({
      level: logLevel as 'warn',
      format: output === 'json' ? 'json' : 'text',
      destination: process.stderr,
    });
  }

  /** Resolves with the exit code. */
  async run(signal: AbortSignal): Promise<number> {
    const { env } = this.#parts;
    const replica = this.#replicaConfig();
    const helpers = startSourceHelpers(replica, env, { logger: this.#logger, isQuiet: true, idleLimitMs });
    const telemetry = this.#telemetry(replica);
    return withChild(signal, async (inner, stop) => {
      const serving = telemetry.run(inner);
      serving.catch((error: unknown) => stop(error as Error));
      try {
        await Promise.race([telemetry.ready(), serving]);
        return await this.#hold(inner, { replica, helpers, telemetry });
      } finally {
        stop(new Shutdown());
        await serving.catch(() => undefined);
      }
    });
  }

  /** Waits for the record of the identity, and keeps the folder while this process holds it. */
  async #hold(signal: AbortSignal, running: Pick<AgentRun, 'replica' | 'helpers' | 'telemetry'>): Promise<number> {
    const client = createKubeClient(this.#parts.target.connection, {
      clock: systemClock,
      random: systemRandom,
      logger: this.#logger,
      userAgent: `driftless-agent/${packageVersion()}`,
    });
    const record = this.#record(client);
    try {
      const mark = await this.#acquire(record, signal);
      this.#waitsFor = 'starting: reading the source';
      return await withChild(signal, async (inner, stop) => {
        const keeping = record.keep(inner);
        keeping.catch((error: unknown) => stop(error as Error));
        try {
          const sourceId = this.#sourceId(mark);
          const kept = this.#usableRevision(record, sourceId);
          await this.#readSource(inner, kept);
          return await this.#keep(inner, stop, { ...running, record, mark, sourceId, kept });
        } finally {
          stop(new Shutdown());
          await keeping.catch(() => undefined);
        }
      });
    } finally {
      await this.#giveUp(record);
      await client.close();
    }
  }

  #sourceId(mark: string): string {
    const { plan, config } = this.#parts;
    return sourceIdOf(mark, plan.binding, [config.revision, config.archive, config.digest]);
  }

  /** The commit by which drift is repaired until the source was read. `--once` has none. */
  #usableRevision(record: AgentRecord, sourceId: string): KeptRevision | undefined {
    const { config, output } = this.#parts;
    if (config.once) return undefined;
    const { revision: kept, refusal } = record.kept;
    const isOther = kept !== undefined && kept.source !== sourceId;
    const why = isOther ? 'the last commit is one of another --revision, --archive or --digest' : refusal;
    if (why !== undefined)
      output.err(`driftless: no drift is repaired before the source has been read, because of the record: ${why}`);
    return isOther ? undefined : kept;
  }

  /** Reads the source. If that fails, a copy of an earlier process serves if it is that commit. */
  async #readSource(signal: AbortSignal, kept: KeptRevision | undefined): Promise<void> {
    try {
      await this.#source.update(signal);
    } catch (error) {
      signal.throwIfAborted();
      if (kept === undefined || (await this.#source.revision()) !== kept.revision) throw error;
      this.#parts.output.err(`driftless: ${messageOf(error)}; the last content stays in force`);
    }
  }

  #acquire(record: AgentRecord, signal: AbortSignal): Promise<string> {
    const { config } = this.#parts;
    if (!config.once) return record.acquire(signal);
    const deadline = { clock: systemClock, limitMs: config.timeout, what: () => this.#waitsFor };
    return withDeadline(signal, deadline, (own) => record.acquire(own));
  }

  /** A waiting agent is alive, and not ready. */
  #telemetry(replica: RunConfig): TelemetryPort {
    return new TelemetryPort({
      host: replica.metricsHost,
      port: replica.metricsPort,
      logger: this.#logger,
      metrics: createMetrics(replica, this.#logger).metrics,
      healthy: () => ({ ok: true, note: this.#waitsFor }),
      ready: (): HealthReport => ({ ok: false, reason: this.#waitsFor }),
    });
  }

  /** Runs the controller against the hub of this process until `signal` aborts, or once. */
  async #keep(signal: AbortSignal, stop: (reason: Error) => void, run: AgentRun): Promise<number> {
    const { config, env, plan, target } = this.#parts;
    const hub = this.#createHub(run);
    this.#refresh = () => requestRefresh(hub, plan.name);
    const unfollow = followState(hub, plan.name, (state) => this.#report(state));
    const unkeep = followRevision(hub, plan.name, (revision) =>
      run.record.keepRevision({ revision, source: run.sourceId }),
    );
    const kindsInUse = new KindsInUse(run.record.kinds, (kinds) => run.record.keepKinds(kinds));
    const connection = { server: hubServer, insecure: false, credentials: {} };
    const controller = {
      config: run.replica,
      env,
      logger: this.#logger,
      hub: { connection, context: 'agent', namespace: agentNamespace },
      openHub: (onAnswer: () => void) => hubClient(hub, onAnswer),
      inCluster: target.connection,
      telemetry: run.telemetry,
      wrapClient: (client: KubeClient) => fencedClient(client, run.record, kindsInUse),
      kindsInUse,
      sourceLimits: { refsTtlMs: refsTtlMs(config.interval) },
      names: agentOptionNames,
    };
    const running = [
      runReplica({ ...controller, redis: undefined, ...run.helpers }, signal),
      this.#followSource(signal),
    ];
    for (const each of running) each.catch((error: unknown) => stop(error as Error));
    try {
      if (config.once) return await this.#untilSettled(hub, signal);
      await untilAborted(signal);
      throw signal.reason;
    } finally {
      stop(new Shutdown());
      await Promise.allSettled(running);
      unfollow();
      unkeep();
    }
  }

  /** A directory or an archive may change at any time. A Git repository is asked by the resync. */
  async #followSource(signal: AbortSignal): Promise<void> {
    const { config, output } = this.#parts;
    while (this.#source.isLocal) {
      await sleepOn(systemClock, config.interval, signal);
      try {
        if (await this.#source.update(signal)) this.#refresh();
      } catch (error) {
        signal.throwIfAborted();
        output.err(`driftless: ${messageOf(error)}; the last content stays in force`);
      }
    }
  }

  #record(client: KubeClient): AgentRecord {
    const { plan, source, output, config } = this.#parts;
    const { name, path, namespace, namespaces, binding } = plan;
    const former = { client, clock: systemClock, namespace, name: config.name, repository: originOf(source), path };
    return new AgentRecord({
      client,
      clock: systemClock,
      name,
      binding,
      namespaces,
      holder: `${hostname()}-${process.pid}-${randomBytes(4).toString('hex')}`,
      former: new FormerLease(former),
      onWaiting: (reason) => {
        this.#waitsFor = `waiting: ${reason}`;
        output.err(`driftless: ${this.#waitsFor}`);
      },
      onRefresh: () => this.#refresh(),
    });
  }

  async #giveUp(record: AgentRecord): Promise<void> {
    const { signal } = newAbortController();
    const deadline = { clock: systemClock, limitMs: releaseMs, what: 'giving up the record of the agent' };
    await withDeadline(signal, deadline, (own) => record.release(own)).catch(() => undefined);
  }

  #createHub({ mark, kept }: AgentRun): HubStore {
    const hub = new HubStore({ clock: systemClock, random: systemRandom });
    for (const object of hubObjects(this.#parts.plan, mark))
      hub.create(kept === undefined ? object : asComparedWith(object, kept.revision));
    return hub;
  }

  #replicaConfig(): RunConfig {
    const { config, plan } = this.#parts;
    const { config: replica } = readArgs(
      runOptions,
      [
        `--namespace=${agentNamespace}`,
        '--replicas=1',
        '--shard=0',
        '--hostname=driftless-agent-0',
        `--cache-dir=${join(cacheFolder(config, plan.name), 'cache')}`,
        `--app-resync=${Math.ceil(config.interval / 1000)}`,
        '--app-resync-jitter=0',
        // Two failed reads of the source, one after the other, are reported.
        '--repo-error-grace-period-seconds=20',
        `--metrics-host=${config.metricsHost}`,
        `--metrics-port=${config.metricsPort}`,
        '--api-port=0',
        '--sync-wave-delay-seconds=0',
        ...(plan.repository.startsWith('file:') ? ['--allow-local-repositories'] : []),
        `--allow-local-sources=${String(config.allowLocalSources)}`,
      ],
      {},
    );
    return replica;
  }

  #report(state: AgentState): void {
    const { output, config } = this.#parts;
    output.out(config.output === 'json' ? JSON.stringify(state) : stateLine(state));
  }

  /** Exit code 0 when everything is Synced and Healthy, 1 with the reason after the timeout. */
  async #untilSettled(hub: HubStore, signal: AbortSignal): Promise<number> {
    const { config, plan, output } = this.#parts;
    const reason = await withChild(signal, async (inner, stop) => {
      const timer = systemClock.timer(config.timeout, () => stop(new Shutdown('the timeout')));
      return settledOrReason(hub, plan.name, inner).finally(() => timer.cancel());
    });
    signal.throwIfAborted();
    if (reason === undefined) return 0;
    output.err(`driftless: not Synced and Healthy after ${formatGoDuration(config.timeout)}: ${reason}`);
    return 1;
  }
}
