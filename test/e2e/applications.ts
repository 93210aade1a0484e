import { systemClock } from '#base';
import { eventually } from '#support';
import { GitFixture } from '../acceptance/world.ts';
import type { Server } from './support/index.ts';

export interface OperationState {
  readonly phase: string;
  readonly message: string;
  readonly startedAt: string;
  readonly finishedAt?: string;
  readonly syncResult?: {
    readonly revision: string;
    readonly resources?: readonly { readonly kind: string; readonly name: string; readonly message: string }[];
  };
}

export interface SyncedApplication {
  readonly metadata: { readonly name: string; readonly deletionTimestamp?: string };
  readonly operation?: unknown;
  readonly status?: {
    readonly sync?: { readonly status: string; readonly revision: string };
    readonly health?: { readonly status: string };
    readonly sourceType?: string;
    readonly resources?: readonly { readonly kind: string; readonly status: string }[];
    readonly operationState?: OperationState;
    readonly conditions?: readonly { readonly type: string; readonly message: string }[];
  };
}

/**
 * An Application in the namespace `argocd` with its own repository. By default it deploys to this
 * cluster, into a namespace of its name.
 */
export class TestApplication {
  readonly git: GitFixture;
  readonly name: string;
  readonly path: string;
  readonly #hub: Server;

  private constructor(hub: Server, name: string, git: GitFixture) {
    this.#hub = hub;
    this.name = name;
    this.git = git;
    this.path = `/apis/argoproj.io/v1alpha1/namespaces/argocd/applications/${name}`;
  }

  static async create(
    where: { readonly hub: Server; readonly folder: string },
    name: string,
    options: { readonly files: Readonly<Record<string, string>>; readonly spec?: object },
  ): Promise<TestApplication> {
    const git = new GitFixture(where.folder, name);
    git.commit(options.files);
    const app = new TestApplication(where.hub, name, git);
    await where.hub.api.create('/apis/argoproj.io/v1alpha1/namespaces/argocd/applications', {
      apiVersion: 'argoproj.io/v1alpha1',
      kind: 'Application',
      metadata: { name, namespace: 'argocd', finalizers: ['resources-finalizer.argocd.argoproj.io'] },
      spec: {
        project: 'default',
        source: { repoURL: git.url, path: '.', targetRevision: 'main' },
        destination: { server: 'https://kubernetes.default.svc', namespace: name },
        ...options.spec,
      },
    });
    return app;
  }

  async read(): Promise<SyncedApplication> {
    const found = await this.#hub.api.get<SyncedApplication>(this.path);
    if (found === undefined) throw new Error(`the Application ${this.name} is not there`);
    return found;
  }

  /** Starts a sync as Argo CD's API server does, and waits until it ends, successful or not. */
  async sync(operation: object = {}, { withinMs = 60_000, tail = (): string => '' } = {}): Promise<OperationState> {
    await this.#hub.api.patch(this.path, {
      operation: { initiatedBy: { username: 'admin' }, sync: operation },
      status: { operationState: null },
    });
    return eventually(async () => {
      const { operation: running, status } = await this.read();
      const state = status?.operationState;
      if ((running ?? undefined) !== undefined || state?.finishedAt === undefined)
        throw new Error(`${this.name}: ${JSON.stringify(state)}\n${tail()}`);
      return state;
    }, withinMs);
  }

  /** Waits until it is Synced and Healthy, at `revision` if given. */
  async isGood(revision?: string, { withinMs = 60_000, tail = (): string => '' } = {}): Promise<void> {
    await eventually(async () => {
      const { status, operation } = await this.read();
      const states = [status?.sync?.status, status?.health?.status].join();
      const known = revision === undefined || status?.sync?.revision === revision;
      if (states !== 'Synced,Healthy' || !known || (operation ?? undefined) !== undefined)
        throw new Error(`${this.name}: ${JSON.stringify(status)}\n${tail()}`);
    }, withinMs);
  }

  /** Waits for a condition; resolves with its message. */
  async condition(type: string, { withinMs = 60_000, tail = (): string => '' } = {}): Promise<string> {
    return eventually(async () => {
      const { status } = await this.read();
      const found = status?.conditions?.find((condition) => condition.type === type);
      if (found === undefined) throw new Error(`${this.name} has no ${type}: ${JSON.stringify(status)}\n${tail()}`);
      return found.message;
    }, withinMs);
  }

  /** Waits until it is deleted. */
  async isGone({ withinMs = 60_000, tail = (): string => '' } = {}): Promise<void> {
    await eventually(async () => {
      const live = await this.#hub.api.get<SyncedApplication>(this.path);
      if (live !== undefined) throw new Error(`${this.name} is not gone: ${JSON.stringify(live)}\n${tail()}`);
    }, withinMs);
  }
}

/**
 * Writes to an object continuously once it exists, so that writes with a cached resourceVersion
 * conflict. Its pauses are longer than a write takes, even on a slow machine: read and retry
 * succeeds.
 * @returns the number of writes so far, and a function that stops it and returns the final number
 */
export function hammer(
  server: Server,
  path: string,
  { pauses = true } = {},
): { readonly written: () => number; readonly stop: () => Promise<number> } {
  let [stopped, written] = [false, 0];
  const working = (async () => {
    for (let count = 0; !stopped; count += 1) {
      const body = { metadata: { annotations: { 'example.com/count': String(count) } } };
      const contentType = 'application/merge-patch+json';
      const begin = systemClock.monotonic();
      const { status } = await server.api.exchange({ method: 'PATCH', path, body, contentType });
      if (status === 200) written += 1;
      if (pauses) await systemClock.sleep(Math.max(20, 5 * (systemClock.monotonic() - begin)));
    }
  })();
  const stop = async (): Promise<number> => {
    stopped = true;
    await working;
    return written;
  };
  return { written: () => written, stop };
}
