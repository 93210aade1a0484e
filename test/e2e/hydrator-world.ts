import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '#support';
import { selfSigned } from '../../desired/testing/index.ts';
import { GitFixture } from '../acceptance/world.ts';
import type { OperationState } from './applications.ts';
import { startCommitServer, startPluginServer } from './support/commit-server.ts';
import type { ArgoServer } from './support/commit-server.ts';
import { startGitServer } from './support/git-server.ts';
import type { GitServer } from './support/git-server.ts';
import { startDouble, startServers, toolsPath } from './support/index.ts';
import type { ClusterDouble, Server, Servers } from './support/index.ts';
import { UnderTest } from './under-test.ts';

export interface HydrateOperation {
  readonly phase: string;
  readonly message?: string;
  readonly drySHA?: string;
  readonly hydratedSHA?: string;
  readonly startedAt: string;
}

interface HydratedStatus {
  readonly sync?: { readonly status: string; readonly revision?: string };
  readonly operationState?: OperationState;
  readonly conditions?: readonly { readonly type: string; readonly message: string }[];
  readonly sourceHydrator?: { readonly currentOperation?: HydrateOperation };
}

interface HydratedApp {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
  readonly operation?: unknown;
  readonly status?: HydratedStatus;
}

const limitMs = 90_000;
const requests = ['argocd.argoproj.io/refresh', 'argocd.argoproj.io/hydrate'];
export const login = { username: 'writer', password: 'a-password-of-this-test' };

/** A plugin whose manifest shows a variable of the Application. */
const plugin = `apiVersion: argoproj.io/v1alpha1
kind: ConfigManagementPlugin
metadata: {name: shown}
spec:
  generate:
    command: [sh, -c]
    args:
      - |
        printf 'apiVersion: v1\\nkind: ConfigMap\\nmetadata: {name: from-plugin}\\ndata: {shown: "%s"}\\n' "$ARGOCD_ENV_SHOWN"
  discover: {fileName: ./shown.txt}
`;

/** A cluster with the controller and the servers that hydration needs. */
export class HydratorWorld {
  readonly hub: Server;
  readonly folder: string;
  readonly gitServer: GitServer;
  readonly #servers: Servers<'hub'>;
  readonly #closed: (() => Promise<unknown>)[] = [];
  readonly #logs: (() => string)[] = [];

  private constructor(servers: Servers<'hub'>, gitServer: GitServer) {
    this.#servers = servers;
    this.hub = servers.servers.hub;
    this.folder = servers.folder;
    this.gitServer = gitServer;
  }

  /** Starts all servers, and the controller with or without Argo CD's commit-server. */
  static async start({ commitServer }: { readonly commitServer: boolean }): Promise<HydratorWorld> {
    const servers = await startServers({ names: ['hub'] });
    const identity = selfSigned(servers.folder, 'git');
    if (identity === undefined) throw new Error('openssl is missing');
    const gitServer = await startGitServer({ root: servers.folder, tls: identity, login });
    const world = new HydratorWorld(servers, gitServer);
    const double: ClusterDouble = await startDouble(world.hub.access);
    world.#closed.push(
      () => gitServer.close(),
      () => double.stop(),
    );
    const shown = await world.#keep(startPluginServer(world.#subfolder('plugin'), { name: 'shown', config: plugin }));
    const server = commitServer ? await world.#keep(startCommitServer(world.#subfolder('commits'))) : undefined;
    const params = { 'hydrator.enabled': 'true', ...(server === undefined ? {} : { 'commit.server': server.address }) };
    const env = [
      { name: 'PATH', value: toolsPath() },
      { name: 'ARGOCD_PLUGINSOCKFILEPATH', value: shown.address },
    ];
    const values = { rbac: { clusterWrite: true }, controller: { heartbeatTime: 2, env }, configs: { params } };
    const controller = await UnderTest.install({ server: world.hub, folder: world.folder, values });
    world.#closed.push(() => controller.stop());
    world.#logs.push(() => controller.pods.tail());
    return world;
  }

  async close(): Promise<void> {
    for (const close of this.#closed.reverse()) await close();
    await this.#servers.close();
  }

  tail(): string {
    return this.#logs.map((log) => log()).join('\n');
  }

  async #keep(starting: Promise<ArgoServer>): Promise<ArgoServer> {
    const server = await starting;
    this.#closed.push(() => server.close());
    this.#logs.push(() => server.log());
    return server;
  }

  #subfolder(name: string): string {
    const path = join(this.folder, name);
    mkdirSync(path);
    return path;
  }

  repository(name: string, files: Readonly<Record<string, string>>): DryRepository {
    return new DryRepository(this.folder, name, files);
  }

  /** Creates an Application that hydrates the folder `app` to `env/test`, unless `over` differs. */
  async application(
    name: string,
    repoURL: string,
    over: { readonly dry?: object; readonly sync?: object; readonly spec?: object; readonly annotations?: object } = {},
  ): Promise<HydratedApplication> {
    const sourceHydrator = {
      drySource: { repoURL, path: 'app', targetRevision: 'HEAD', ...over.dry },
      syncSource: { targetBranch: 'env/test', path: 'hydrated', ...over.sync },
      ...over.spec,
    };
    const { annotations = {} } = over;
    const finalizers = ['resources-finalizer.argocd.argoproj.io'];
    await this.hub.api.create('/apis/argoproj.io/v1alpha1/namespaces/argocd/applications', {
      apiVersion: 'argoproj.io/v1alpha1',
      kind: 'Application',
      metadata: { name, namespace: 'argocd', annotations, finalizers },
      spec: {
        project: 'default',
        sourceHydrator,
        destination: { server: 'https://kubernetes.default.svc', namespace: name },
      },
    });
    return new HydratedApplication(this, name);
  }
}

/** A repository with a dry branch `main`, which accepts pushes by path and over https. */
export class DryRepository {
  readonly url: string;
  readonly path: string;
  /** The first dry commit. */
  readonly first: string;
  readonly #fixture: GitFixture;

  constructor(folder: string, name: string, files: Readonly<Record<string, string>>) {
    this.#fixture = new GitFixture(folder, name);
    ({ url: this.url, path: this.path } = this.#fixture);
    this.git('config', 'http.receivepack', 'true');
    this.first = this.commit(files);
  }

  commit(files: Readonly<Record<string, string | null>>): string {
    return this.#fixture.commit(files);
  }

  /** Subjects of the commits of a branch, the newest first. */
  subjects(branch = 'env/test'): readonly string[] {
    return this.git('log', '--format=%s', branch).split('\n');
  }

  git(...args: readonly string[]): string {
    return execFileSync('git', ['-C', this.path, ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: process.env['PATH'], HOME: this.path, GIT_CONFIG_NOSYSTEM: '1' },
    }).trim();
  }
}

export class HydratedApplication {
  readonly #world: HydratorWorld;
  readonly #name: string;
  readonly #path: string;

  constructor(world: HydratorWorld, name: string) {
    this.#world = world;
    this.#name = name;
    this.#path = `/apis/argoproj.io/v1alpha1/namespaces/argocd/applications/${name}`;
  }

  /** A merge patch of the Application. */
  async patch(body: object): Promise<void> {
    await this.#world.hub.api.patch(this.#path, body);
  }

  /** Requests refresh and hydration as `argocd app get --refresh` does, and waits for both. */
  async refresh(type: 'normal' | 'hard' = 'normal'): Promise<HydrateOperation> {
    await this.patch({ metadata: { annotations: Object.fromEntries(requests.map((name) => [name, type])) } });
    return this.#until((app) => {
      if (requests.some((name) => app.metadata.annotations?.[name] !== undefined)) return undefined;
      const { currentOperation: current } = app.status?.sourceHydrator ?? {};
      return current === undefined || current.phase === 'Hydrating' ? undefined : current;
    });
  }

  /** Waits until it is hydrated; from this dry commit, if given. */
  hydrated(drySHA?: string): Promise<HydrateOperation> {
    return this.#until(({ status }) => {
      const { currentOperation: current } = status?.sourceHydrator ?? {};
      const isIt = drySHA === undefined || current?.drySHA === drySHA;
      return current?.phase === 'Hydrated' && isIt ? current : undefined;
    });
  }

  /** Syncs to the hydrated branch; returns the state of the operation when it ends. */
  async sync(): Promise<OperationState> {
    await this.patch({
      operation: { initiatedBy: { username: 'admin' }, sync: { syncOptions: ['CreateNamespace=true'] } },
      status: { operationState: null },
    });
    return this.#until(({ operation, status }) =>
      operation === undefined && status?.operationState?.finishedAt !== undefined ? status.operationState : undefined,
    );
  }

  /** Syncs, and waits until the sync status is Synced. */
  async isSynced(): Promise<void> {
    const { phase, message } = await this.sync();
    if (phase !== 'Succeeded') throw new Error(`${this.#name}: ${phase}: ${message}\n${this.#world.tail()}`);
    await this.#until(({ status }) => (status?.sync?.status === 'Synced' ? true : undefined));
  }

  /** Deletes it with its objects, and waits until it is gone. */
  async delete(): Promise<void> {
    await this.#world.hub.api.delete(this.#path);
    await eventually(async () => {
      if ((await this.#world.hub.api.get(this.#path)) !== undefined) throw new Error(`${this.#name} is still there`);
    }, limitMs);
  }

  /** The data of a deployed ConfigMap. */
  async data(name: string): Promise<Readonly<Record<string, string>> | undefined> {
    const path = `/api/v1/namespaces/${this.#name}/configmaps/${name}`;
    return (await this.#world.hub.api.get<{ data: Record<string, string> }>(path))?.data;
  }

  #until<T>(found: (app: HydratedApp) => T | undefined): Promise<T> {
    return eventually(async () => {
      const app = await this.#world.hub.api.get<HydratedApp>(this.#path);
      const result = app === undefined ? undefined : found(app);
      if (result !== undefined) return result;
      throw new Error(
        `${this.#name}: ${JSON.stringify([app?.metadata.annotations, app?.status])}\n${this.#world.tail()}`,
      );
    }, limitMs);
  }
}
