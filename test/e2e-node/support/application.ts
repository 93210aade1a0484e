import { eventually } from '#support';
import { GitFixture } from '../../acceptance/world.ts';
import type { SyncedApplication } from '../../e2e/applications.ts';
import type { World } from './world.ts';

const limitMs = 60_000;

interface Identified {
  readonly metadata: { readonly uid: string };
}

/** An Application with a repository of its own, which deploys a ConfigMap and heals it. */
export class NodeApplication {
  readonly name: string;
  readonly path: string;
  readonly #world: World;
  readonly #configMap: string;

  private constructor(world: World, name: string, namespace: string) {
    this.#world = world;
    this.name = name;
    this.path = `/apis/argoproj.io/v1alpha1/namespaces/${namespace}/applications/${name}`;
    this.#configMap = `/api/v1/namespaces/${name}/configmaps/settings`;
  }

  /** Creates it in the namespace `argocd`, with the repository served over http, unless given. */
  static async create(
    world: World,
    name: string,
    { namespace = 'argocd', url = '' }: { readonly namespace?: string; readonly url?: string } = {},
  ): Promise<NodeApplication> {
    const git = new GitFixture(world.repositories, name);
    git.commit({ 'settings.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {a: "1"}\n' });
    const app = new NodeApplication(world, name, namespace);
    await world.hub.api.create(app.path.slice(0, app.path.lastIndexOf('/')), {
      apiVersion: 'argoproj.io/v1alpha1',
      kind: 'Application',
      metadata: { name, namespace },
      spec: {
        project: 'default',
        source: { repoURL: `${url === '' ? world.git.url : url}/${name}`, path: '.', targetRevision: 'main' },
        destination: { server: 'https://kubernetes.default.svc', namespace: name },
        syncPolicy: { automated: { selfHeal: true }, syncOptions: ['CreateNamespace=true'] },
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
    const before = await this.#uid();
    if (before === undefined) throw new Error(`${this.#configMap} does not exist`);
    await this.#world.hub.api.delete(this.#configMap);
    return (withinMs = limitMs) =>
      eventually(async () => {
        const now = await this.#uid();
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

  async #uid(): Promise<string | undefined> {
    return (await this.#world.hub.api.get<Identified>(this.#configMap))?.metadata.uid;
  }
}
