import { eventually } from '#support';
import { GitFixture } from '../../acceptance/world.ts';
import type { SyncedApplication } from '../../e2e/applications.ts';
import type { World } from './world.ts';

const limitMs = 60_000;

interface ConfigMap {
  readonly metadata: { readonly uid: string };
  readonly data?: Readonly<Record<string, string>>;
}

interface ApplicationOptions {
  readonly namespace?: string;
  readonly url?: string;
  /** The destination's namespace, and the name of the repository. */
  readonly target?: string;
  readonly createsNamespace?: boolean;
  readonly project?: string;
  /** They must render a ConfigMap `settings`. */
  readonly files?: Readonly<Record<string, string>>;
  /** More fields of the source. */
  readonly source?: object;
}

const plainFiles = {
  'settings.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {a: "1"}\n',
};

/** An Application with a repository of its own, which deploys a ConfigMap and heals it. */
export class NodeApplication {
  readonly name: string;
  readonly path: string;
  readonly git: GitFixture;
  readonly #world: World;
  readonly #configMap: string;

  private constructor(world: World, name: string, { namespace, target }: { namespace: string; target: string }) {
    this.#world = world;
    this.name = name;
    this.git = new GitFixture(world.repositories, target);
    this.path = `/apis/argoproj.io/v1alpha1/namespaces/${namespace}/applications/${name}`;
    this.#configMap = `/api/v1/namespaces/${target}/configmaps/settings`;
  }

  /** By default in the namespace `argocd`, over http, into a namespace of its own name. */
  static async create(world: World, name: string, options: ApplicationOptions = {}): Promise<NodeApplication> {
    const { namespace = 'argocd', url = world.git.url, target = name, createsNamespace = true } = options;
    const app = new NodeApplication(world, name, { namespace, target });
    app.git.commit(options.files ?? plainFiles);
    await world.hub.api.create(app.path.slice(0, app.path.lastIndexOf('/')), {
      apiVersion: 'argoproj.io/v1alpha1',
      kind: 'Application',
      metadata: { name, namespace },
      spec: {
        project: options.project ?? 'default',
        source: { repoURL: `${url}/${target}`, path: '.', targetRevision: 'main', ...options.source },
        destination: { server: 'https://kubernetes.default.svc', namespace: target },
        syncPolicy: {
          automated: { selfHeal: true, prune: true },
          syncOptions: createsNamespace ? ['CreateNamespace=true'] : [],
        },
      },
    });
    return app;
  }

  /** Waits until it is Synced and Healthy. */
  async isGood(withinMs = limitMs): Promise<void> {
    await eventually(async () => {
      const status = await this.status();
      if ([status?.sync?.status, status?.health?.status].join() !== 'Synced,Healthy')
        throw new Error(`${this.name}: ${JSON.stringify(status)}`);
    }, withinMs);
  }

  async status(): Promise<SyncedApplication['status']> {
    return (await this.#world.hub.api.get<SyncedApplication>(this.path))?.status;
  }

  /** Deletes the ConfigMap. @returns a wait until it exists again, which resolves with the time */
  async drift(): Promise<(withinMs?: number) => Promise<number>> {
    const before = await this.deployed();
    if (before === undefined) throw new Error(`${this.#configMap} does not exist`);
    await this.#world.hub.api.delete(this.#configMap);
    return (withinMs = limitMs) =>
      eventually(async () => {
        const now = await this.deployed();
        if (now !== undefined && now !== before) return Date.now();
        throw new Error(`${this.#configMap} does not come back: ${JSON.stringify(await this.status())}`);
      }, withinMs);
  }

  /** Makes drift and waits for the repair. */
  async heals(withinMs = limitMs): Promise<void> {
    await (
      await this.drift()
    )(withinMs);
  }

  /**
   * Makes drift again and again while `work` runs, and repairs it once more afterwards.
   * @returns the longest time without the object, in milliseconds
   */
  async healsDuring(work: Promise<unknown>, withinMs = limitMs): Promise<number> {
    let [ended, longest] = [false, 0];
    const end = work.finally(() => (ended = true));
    end.catch(() => undefined);
    for (let last = false; !last;) {
      last = ended;
      const begin = Date.now();
      longest = Math.max(longest, (await (await this.drift())(withinMs)) - begin);
    }
    await end;
    return longest;
  }

  /** The uid of the deployed ConfigMap, undefined if there is none. */
  async deployed(): Promise<string | undefined> {
    return (await this.#read())?.metadata.uid;
  }

  /** The data of the deployed ConfigMap. */
  async data(): Promise<ConfigMap['data']> {
    return (await this.#read())?.data;
  }

  /** Waits until the Application has a condition with this text. */
  async hasCondition(text: string | RegExp): Promise<void> {
    await eventually(async () => {
      const conditions = (await this.status())?.conditions ?? [];
      if (!conditions.some(({ message }) => message.search(text) >= 0))
        throw new Error(`${this.name}: no condition ${String(text)}: ${JSON.stringify(conditions)}`);
    }, limitMs);
  }

  #read(): Promise<ConfigMap | undefined> {
    return this.#world.hub.api.get<ConfigMap>(this.#configMap);
  }
}
