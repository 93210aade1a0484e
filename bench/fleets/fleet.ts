import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { systemClock } from '#base';
import { firstValue, manifestOf, numbered } from './fleet-objects.ts';
import type { FleetApplication } from './fleet-objects.ts';
import { forkObject } from '../fleet/remote.ts';
import type { Remote } from '../fleet/remote.ts';
import { FleetReplica } from './replica.ts';
import { FleetRepository } from './repository.ts';
import type { ScenarioRun } from './scenario.ts';
import type { FleetShape, SimFleet, Witnessed } from './sim-fleet.ts';

const simMethods = [
  'start',
  'scale',
  'create',
  'seed',
  'settled',
  'drift',
  'driftObjects',
  'startProbe',
  'stopProbe',
  'takeRepairs',
  'unrepaired',
  'push',
  'refresh',
  'touch',
  'takeSynced',
  'unsynced',
  'sync',
  'finishedOperations',
  'startChurn',
  'churned',
  'stopChurn',
  'breakConnections',
  'counts',
  'resetCounts',
  'close',
] as const satisfies readonly (keyof SimFleet)[];

/** Applications in one `create` or `seed`, so that the servers answer in between. */
const batchSize = 500;
const defaultHeartbeatSeconds = 10;
const quietMs = 1000;
/** A scrape of a big fleet costs the replica CPU time. */
const scrapeIntervalMs = 1000;
/** The Application that others are seeded from. */
export const templateName = numbered('app', 99_999);

/** The servers, the repository and the replicas of one scenario. */
export class Fleet {
  readonly sim: Remote<SimFleet, (typeof simMethods)[number]>;
  readonly repository: FleetRepository;
  readonly servers: readonly string[];
  readonly shape: FleetShape;
  readonly #run: ScenarioRun;
  readonly #folder: string;
  readonly #replicas = new Map<number, FleetReplica>();
  #lives = 0;
  /** Applies to replicas that are started from now on. */
  heartbeatSeconds = defaultHeartbeatSeconds;
  /** Flags of replicas that are started from now on. */
  flags: readonly string[] = [];

  constructor(
    run: ScenarioRun,
    parts: Pick<Fleet, 'sim' | 'repository' | 'servers' | 'shape'> & { readonly folder: string },
  ) {
    this.#run = run;
    this.#folder = parts.folder;
    ({ sim: this.sim, repository: this.repository, servers: this.servers, shape: this.shape } = parts);
  }

  /** Sets the size of the workload, and starts its missing replicas. */
  async scale(replicas: number): Promise<void> {
    await this.sim.scale(replicas);
    const started: FleetReplica[] = [];
    for (let ordinal = 0; ordinal < replicas; ordinal += 1)
      if (!this.#replicas.has(ordinal)) started.push(this.start(ordinal));
    await Promise.all(started.map((replica) => replica.started()));
  }

  start(ordinal: number): FleetReplica {
    const kubeconfig = join(this.#folder, 'kubeconfig');
    const { heartbeatSeconds, flags } = this;
    const options = { kubeconfig, folder: this.#folder, ordinal, heartbeatSeconds, flags };
    const replica = new FleetReplica(options, this.#lives);
    this.#lives += 1;
    this.#replicas.set(ordinal, replica);
    return replica;
  }

  replica(ordinal: number): FleetReplica {
    const replica = this.#replicas.get(ordinal);
    if (replica === undefined) throw new Error(`replica ${ordinal} does not run`);
    return replica;
  }

  replicas(): readonly FleetReplica[] {
    return [...this.#replicas.values()];
  }

  async stop(ordinal: number): Promise<void> {
    const replica = this.replica(ordinal);
    await replica.stop();
    this.#replicas.delete(ordinal);
  }

  async kill(ordinal: number): Promise<void> {
    const replica = this.replica(ordinal);
    this.#replicas.delete(ordinal);
    await replica.kill();
  }

  /** Commits the manifests of Applications; returns the commit. */
  commit(names: readonly string[], value = firstValue): Promise<string> {
    const objects = Array.from({ length: this.shape.objectsPerApplication }, (_, i) => i);
    return this.repository.commit(
      Object.fromEntries(
        names.map((name) => [`${name}/all.yaml`, objects.map((i) => manifestOf(name, i, value)).join('---\n')]),
      ),
    );
  }

  async create(applications: readonly FleetApplication[]): Promise<void> {
    for (let i = 0; i < applications.length; i += batchSize)
      await this.sim.create(applications.slice(i, i + batchSize));
  }

  /**
   * Creates a fleet that an earlier replica left Synced: a replica syncs one Application, ends, and
   * all others get the same status and objects.
   */
  async seed(applications: readonly FleetApplication[]): Promise<void> {
    await this.commit([templateName, ...applications.map(({ name }) => name)]);
    const [first] = applications;
    await this.sim.create([{ name: templateName, cluster: 0, namespace: first?.namespace ?? 'apps' }]);
    await this.scale(1);
    await this.settled(1);
    await this.#run.pause('quiet', quietMs);
    await this.stop(0);
    for (let i = 0; i < applications.length; i += batchSize) {
      await this.sim.seed(templateName, applications.slice(i, i + batchSize));
      if (i % (10 * batchSize) === 0) this.#run.progress(`${i} of ${applications.length} Applications seeded`);
    }
    await this.settled(applications.length + 1);
  }

  settled(count: number): Promise<void> {
    return this.#run.waitUntil('all Applications are Synced and Healthy', async () => {
      const settled = await this.sim.settled();
      return settled >= count ? undefined : `${settled} of ${count}`;
    });
  }

  /** Waits until a replica has compared all Applications since its start. */
  compared(ordinal: number, count: number): Promise<void> {
    const poll = async (): Promise<string | undefined> => {
      const passes = await this.replica(ordinal).metric('argocd_app_reconcile_count');
      return passes >= count ? undefined : `${passes} of ${count} passes`;
    };
    return this.#run.waitUntil('every Application was compared', poll, scrapeIntervalMs);
  }

  /** Waits until every changed object is repaired; returns all repairs since the last call. */
  async repaired(): Promise<readonly Witnessed[]> {
    await this.#run.waitUntil('all objects are repaired', async () => {
      const { length, 0: first } = await this.sim.unrepaired();
      return first === undefined ? undefined : `${length} are not, ${first.name} among them`;
    });
    return this.sim.takeRepairs();
  }

  async close(): Promise<void> {
    await Promise.all(this.replicas().map((replica) => replica.kill()));
  }
}

/** Starts the servers and the repository, runs `body`, and ends everything that was started. */
export async function withFleet<T>(
  run: ScenarioRun,
  shape: FleetShape,
  body: (fleet: Fleet) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'driftless-fleets-'));
  mkdirSync(join(folder, 'git'));
  const repository = await FleetRepository.start(join(folder, 'git'));
  const process = forkObject<SimFleet, (typeof simMethods)[number]>(
    resolve('dist/bench/fleets/world-process.js'),
    simMethods,
  );
  try {
    const sim = process.remote;
    const { kubeconfig, servers } = await sim.start(shape, repository.url);
    writeFileSync(join(folder, 'kubeconfig'), kubeconfig);
    const fleet = new Fleet(run, { sim, repository, servers, shape, folder });
    try {
      return await body(fleet);
    } catch (error) {
      throw new Error(messageWithLogs(error, fleet), { cause: error });
    } finally {
      await fleet.close();
    }
  } finally {
    await process.end();
    await repository.close();
    await systemClock.sleep(0);
    rmSync(folder, { recursive: true, force: true });
  }
}

function messageWithLogs(error: unknown, fleet: Fleet): string {
  const logs = fleet.replicas().map((replica) => `${replica.name}:\n${replica.lastLines()}`);
  return [error instanceof Error ? error.message : String(error), ...logs].join('\n');
}

/** Applications `app-00000` ..., spread over the clusters evenly. */
export function spreadApplications(count: number, clusters: number): readonly FleetApplication[] {
  return Array.from({ length: count }, (_, i) => ({
    name: numbered('app', i),
    cluster: i % clusters,
    namespace: 'apps',
  }));
}
