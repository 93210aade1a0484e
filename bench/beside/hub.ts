import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { ConcurrencyLimiter, newAbortController, Shutdown, systemClock } from '#base';
import type { JsonObject } from '#base';
import type { KubeObject } from '#model';
import { startGitServer } from '#sim';
import type { GitServer } from '#sim';
import { controllerSet, installArgo } from '../../test/e2e/argo-cli/installation.ts';
import { ServedRepository } from '../../test/e2e/argo-cli/repository.ts';
import { isBy, isWrite, startServers } from '../../test/e2e/support/index.ts';
import type { Server, Servers } from '../../test/e2e/support/index.ts';
import { manifestsOf } from '../fleet/repository.ts';
import { applicationOf } from '../fleet/servers.ts';
import { ObjectWatch } from './object-watch.ts';

export interface ApplicationState {
  /** Synced to a revision, without an operation that runs or failed. */
  readonly syncedRevision: string | undefined;
  readonly isRefreshRequested: boolean;
  /** The message of its first condition. */
  readonly condition: string | undefined;
}

interface ApplicationFields extends KubeObject {
  readonly operation?: JsonObject;
  readonly status?: {
    readonly sync?: { readonly status?: string; readonly revision?: string };
    readonly operationState?: { readonly phase?: string; readonly message?: string };
    readonly conditions?: readonly { readonly message?: string }[];
  };
}

const objectsPerApplication = 4;
const argoNamespace = 'argocd';
const appsNamespace = 'apps';
const account = 'argocd-application-controller';
const tokenLifetimeSeconds = 86_400;
const refreshAnnotation = 'argocd.argoproj.io/refresh';
const refreshTimestampAnnotation = 'argocd.argoproj.io/refresh-timestamp';
const applicationsPath = `/apis/argoproj.io/v1alpha1/namespaces/${argoNamespace}/applications`;
const configMapsPath = `/api/v1/namespaces/${appsNamespace}/configmaps`;
const changedByHand = 'changed by hand';
/** Requests of the script at the same time. */
const concurrency = 8;

/**
 * One real API server, hub and destination, with the settings of Argo CD's installation and a Git
 * server. The actions of users, and what they see.
 */
export class BesideHub {
  readonly names: readonly string[];
  /** Access as the ServiceAccount of the controller. */
  readonly kubeconfig: string;
  readonly folder: string;
  readonly applications: ObjectWatch<ApplicationState>;
  /** The value `key` of each ConfigMap. */
  readonly #configMaps: ObjectWatch<string | undefined>;
  readonly #server: Server;
  readonly #servers: Servers<'hub'>;
  readonly #git: GitServer;
  readonly #repository: ServedRepository;
  readonly #stop = newAbortController();

  private constructor(parts: {
    readonly names: readonly string[];
    readonly servers: Servers<'hub'>;
    readonly git: GitServer;
    readonly repository: ServedRepository;
    readonly kubeconfig: string;
  }) {
    this.names = parts.names;
    this.kubeconfig = parts.kubeconfig;
    this.folder = parts.servers.folder;
    this.#servers = parts.servers;
    this.#server = parts.servers.servers.hub;
    this.#git = parts.git;
    this.#repository = parts.repository;
    const { api } = this.#server;
    this.applications = new ObjectWatch({ api, path: applicationsPath, stateOf: applicationState });
    this.#configMaps = new ObjectWatch({ api, path: configMapsPath, stateOf: keyOf });
    const watching = [this.applications, this.#configMaps].map((watch) => watch.run(this.#stop.signal));
    Promise.all(watching).catch((error: unknown) => this.#stop.abort(error));
  }

  static async start(size: number): Promise<BesideHub> {
    const names = Array.from({ length: size }, (_app, i) => `app-${i}`);
    const servers = await startServers({ names: ['hub'] });
    let git: GitServer | undefined;
    try {
      const root = join(servers.folder, 'repositories');
      mkdirSync(root);
      git = await startGitServer(root);
      const repository = new ServedRepository(root, join(servers.folder, 'trees'), 'apps');
      repository.commit(
        Object.fromEntries(names.map((name) => [fileOf(name), manifestsOf(name, objectsPerApplication)])),
      );
      const kubeconfig = await prepare(servers.servers.hub);
      return new BesideHub({ names, servers, git, repository, kubeconfig });
    } catch (error) {
      await git?.close();
      await servers.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#stop.abort(new Shutdown());
    await this.#git.close();
    await this.#servers.close();
  }

  /** Aborts when a watch of the script fails, or at the end. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  async createApplications(): Promise<void> {
    const repository = `${this.#git.url}/apps.git`;
    await this.#forEach(this.names, (name) =>
      this.#server.api.create(
        applicationsPath,
        applicationOf({ name, repository, namespace: appsNamespace }, 'https://kubernetes.default.svc'),
      ),
    );
  }

  /** Waits until every Application is Synced, without a running operation. */
  untilSynced(limitMs: number): Promise<void> {
    const isDone = (): boolean => this.syncedCount() === this.names.length;
    return this.applications.until({ what: 'the first sync', limitMs, signal: this.signal }, isDone);
  }

  syncedCount(): number {
    return this.applications.count(({ syncedRevision }) => syncedRevision !== undefined);
  }

  /** The condition of the first Application that has one, for error messages. */
  firstError(): string {
    const found = [...this.applications.states].find(([, { condition }]) => condition !== undefined);
    return found === undefined
      ? 'no Application has a condition'
      : `condition of ${found[0]}: ${found[1].condition ?? ''}`;
  }

  refreshingCount(): number {
    return this.applications.count(({ isRefreshRequested }) => isRefreshRequested);
  }

  /**
   * Requests a refresh of each Application, with a time, and waits until all are done. Resolves to
   * the seconds that the requests themselves took.
   */
  async refresh(names: readonly string[], limitMs: number): Promise<number> {
    const begin = systemClock.monotonic();
    const asked = new Set<string>();
    const done = new Set<string>();
    const isDone = (): boolean => {
      for (const name of names) {
        const isRequested = this.applications.states.get(name)?.isRefreshRequested === true;
        if (isRequested) asked.add(name);
        else if (asked.has(name)) done.add(name);
      }
      return done.size === names.length;
    };
    const end = this.applications.until({ what: 'the refreshes', limitMs, signal: this.signal }, isDone);
    const asking = this.#ask(names).then(() => (systemClock.monotonic() - begin) / 1000);
    const [askedSeconds] = await Promise.all([asking, end]);
    return askedSeconds;
  }

  /**
   * Changes a value of an Application's first ConfigMap by hand; resolves to the milliseconds until
   * it is repaired. `sent` is called after the change.
   */
  async drift(name: string, limitMs: number, sent?: () => void): Promise<number> {
    const configMap = `${name}-0`;
    const wanted = this.#configMaps.states.get(configMap);
    let isChanged = false;
    const isRepaired = (): boolean => {
      const value = this.#configMaps.states.get(configMap);
      if (value === changedByHand) isChanged = true;
      return isChanged && value === wanted;
    };
    const begin = systemClock.monotonic();
    const what = `the repair of ConfigMap ${configMap}`;
    const repaired = this.#configMaps
      .until({ what, limitMs, signal: this.signal }, isRepaired)
      .then(() => systemClock.monotonic() - begin);
    const change = this.#server.api.patch(`${configMapsPath}/${configMap}`, { data: { key: changedByHand } });
    const [took] = await Promise.all([repaired, change.then(() => sent?.())]);
    return took;
  }

  /** Waits until an Application is Synced again, so that the next action meets a calm one. */
  untilCalm(name: string, limitMs: number): Promise<void> {
    const isCalm = (): boolean => this.applications.states.get(name)?.syncedRevision !== undefined;
    return this.applications.until({ what: `Application ${name} to be Synced`, limitMs, signal: this.signal }, isCalm);
  }

  /**
   * Pushes one commit that changes one file of each Application, requests their refresh as a
   * webhook does, and waits until all are Synced to the commit.
   */
  async push(names: readonly string[], limitMs: number): Promise<void> {
    const manifests = (name: string): string =>
      manifestsOf(name, objectsPerApplication).replace('some text that is not so short', 'another text');
    const commit = this.#repository.commit(Object.fromEntries(names.map((name) => [fileOf(name), manifests(name)])));
    const isDone = (): boolean => names.every((name) => this.applications.states.get(name)?.syncedRevision === commit);
    const end = this.applications.until({ what: 'the push', limitMs, signal: this.signal }, isDone);
    await Promise.all([end, this.#ask(names)]);
  }

  /** The number of patches and updates of Applications by the controller since a time. */
  applicationWritesSince(time: number): number {
    return this.#server
      .audit()
      .filter((event) => isWrite(event) && isBy(event, argoNamespace, account))
      .filter(({ objectRef }) => objectRef?.resource === 'applications')
      .filter(({ requestReceivedTimestamp }) => Date.parse(requestReceivedTimestamp) >= time).length;
  }

  async #ask(names: readonly string[]): Promise<void> {
    const time = new Date(systemClock.now()).toISOString();
    const annotations = { [refreshAnnotation]: 'normal', [refreshTimestampAnnotation]: time };
    await this.#forEach(names, (name) =>
      this.#server.api.patch(`${applicationsPath}/${name}`, { metadata: { annotations } }),
    );
  }

  async #forEach(names: readonly string[], work: (name: string) => Promise<unknown>): Promise<void> {
    const limiter = new ConcurrencyLimiter(concurrency);
    await Promise.all(names.map((name) => limiter.run(this.signal, () => work(name))));
  }
}

function fileOf(name: string): string {
  return `${name}/all.yaml`;
}

/** Installs what both controllers need; returns the kubeconfig of their ServiceAccount. */
export async function prepare(server: Server): Promise<string> {
  await installArgo(server, { hookUrl: server.url });
  await server.kubectl(['create', 'namespace', appsNamespace]);
  await server.kubectl(['create', 'serviceaccount', account, '--namespace', argoNamespace]);
  const subject = `--serviceaccount=${argoNamespace}:${account}`;
  await server.kubectl(['create', 'clusterrolebinding', account, '--clusterrole=cluster-admin', subject]);
  await server.kubectl(['apply', '--validate=false', '-f', '-'], { input: JSON.stringify(controllerSet()) });
  const token = await server.token(argoNamespace, account, tokenLifetimeSeconds);
  return server.kubeconfigFor({ server: server.url, ca: server.ca, token }, argoNamespace);
}

function applicationState(object: KubeObject): ApplicationState {
  const { operation, status, metadata } = object as ApplicationFields;
  const isSynced =
    status?.sync?.status === 'Synced' &&
    status.operationState?.phase === 'Succeeded' &&
    (operation ?? undefined) === undefined;
  return {
    syncedRevision: isSynced ? status.sync.revision : undefined,
    isRefreshRequested: metadata.annotations?.[refreshAnnotation] !== undefined,
    condition: status?.conditions?.[0]?.message,
  };
}

function keyOf(object: KubeObject): string | undefined {
  return (object['data'] as { readonly key?: string } | undefined)?.key;
}
