import { readFileSync } from 'node:fs';
import { parseYamlDocuments, seededRandom, systemClock } from '#base';
import type { JsonObject } from '#base';
import type { KubeObject } from '#model';
import { startSimCluster } from '#sim';
import type { SimCluster, SimRequest } from '#sim';

/** An Application to be: its folder in the repository has its name. */
export interface Wanted {
  readonly name: string;
  readonly repository: string;
  /** As `spec.destination.namespace`: that namespace is made. */
  readonly namespace: string;
}

/** Requests that the controller made, so far. */
export interface Requests {
  /** Patches and updates of Applications. */
  readonly applications: number;
  /** Everything else but leases of any form, asked of the hub. */
  readonly hub: number;
  /** Creates, patches, updates and deletes in the destination cluster. */
  readonly writes: number;
  /** Everything asked of the destination cluster, but for watches. */
  readonly destination: number;
}

const argo = 'argoproj.io';
const refresh = 'argocd.argoproj.io/refresh';
const refreshTimestamp = 'argocd.argoproj.io/refresh-timestamp';
const verbs = new Set(['create', 'patch', 'update', 'delete']);
/** How often it is looked whether what is waited for has come. */
const lookMs = 5;

/**
 * A simulated hub and one simulated cluster, with what people do to them. Everything that it takes and answers is plain JSON, so that it can live in
 * another process: then what the controller's process spends is the controller's alone.
 */
export class Servers {
  #hub: SimCluster | undefined;
  #destination: SimCluster | undefined;
  /** Names of Applications; kept by what changes, for a list of all at each look would take more than what is measured. */
  readonly #settled = new Set<string>();
  readonly #counts = { applications: 0, hub: 0, writes: 0, destination: 0 };

  /** URLs of both. */
  async start(): Promise<{ readonly hub: string; readonly destination: string }> {
    const common = { clock: systemClock, random: seededRandom(2), workloads: { enabled: true, delayMs: 5 } };
    const hub = await startSimCluster({ ...common, name: 'hub', crds: definitions() });
    const destination = await startSimCluster({ ...common, name: 'dest' });
    [this.#hub, this.#destination] = [hub, destination];
    hub.store.subscribe(({ object }) => {
      if (object.kind !== 'Application') return;
      if (isSettled(object)) this.#settled.add(object.metadata.name ?? '');
      else this.#settled.delete(object.metadata.name ?? '');
    });
    hub.onRequest((request) => this.#countHub(request));
    destination.onRequest(({ verb }) => {
      if (verbs.has(verb)) this.#counts.writes += 1;
      if (verb !== 'watch') this.#counts.destination += 1;
    });
    const objects: KubeObject[] = [
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'argocd' } },
      clusterSecret(destination.url, {}),
      project,
    ];
    for (const object of objects) hub.store.create(object);
    return { hub: hub.url, destination: destination.url };
  }

  create(wanted: readonly Wanted[]): void {
    const { hub, destination } = this.#both();
    for (const namespace of new Set(wanted.map((one) => one.namespace)))
      if (destination.store.get('', 'Namespace', '', namespace) === undefined)
        destination.store.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
    for (const { name, repository, namespace } of wanted)
      hub.store.create(application({ name, repository, namespace }, destination.url));
  }

  /** Waits until so many Applications are Synced and Healthy, without an operation under way or a refresh asked for. */
  async settled(count: number): Promise<void> {
    while (this.#settled.size < count) await systemClock.sleep(lookMs);
  }

  requests(): Requests {
    return { ...this.#counts };
  }

  /** What Argo CD's API server writes when somebody asks for a refresh, to each of them. */
  ask(names: readonly string[]): void {
    const { hub } = this.#both();
    for (const name of names) {
      const object = hub.store.get(argo, 'Application', 'argocd', name);
      if (object === undefined) throw new Error(`no application ${name}`);
      const annotations = {
        ...object.metadata.annotations,
        [refresh]: 'normal',
        [refreshTimestamp]: new Date(systemClock.now()).toISOString(),
      };
      hub.store.update({ ...object, metadata: { ...object.metadata, annotations } });
    }
  }

  /** What `argocd app sync` writes; waits until it is done. */
  async sync(name: string): Promise<void> {
    const { hub } = this.#both();
    const object = hub.store.get(argo, 'Application', 'argocd', name);
    if (object === undefined) throw new Error(`no application ${name}`);
    const operation = { sync: {}, initiatedBy: { username: 'me' } };
    hub.store.update({ ...object, operation });
    const isDone = (): boolean =>
      (hub.store.get(argo, 'Application', 'argocd', name)?.['operation'] ?? undefined) === undefined;
    while (!isDone()) await systemClock.sleep(lookMs);
  }

  /** Changes a value of a ConfigMap by hand, past Git; milliseconds until it is what it was. */
  async drift(namespace: string, name: string): Promise<number> {
    const { destination } = this.#both();
    const object = destination.store.get('', 'ConfigMap', namespace, name);
    if (object === undefined) throw new Error(`no ConfigMap ${name}`);
    const begin = systemClock.monotonic();
    const data = object['data'] as { readonly key?: string };
    return new Promise((done) => {
      const stop = destination.store.subscribe(({ object: now }) => {
        if (now.metadata.name !== name || now.metadata.namespace !== namespace || now.kind !== 'ConfigMap') return;
        if ((now['data'] as typeof data | undefined)?.key !== data.key) return;
        stop();
        done(systemClock.monotonic() - begin);
      });
      destination.store.update({ ...object, data: { ...data, key: 'changed by hand' } });
    });
  }

  /** Adds a label that no manifest knows to a ConfigMap: a change, and no difference. */
  touch(namespace: string, name: string, value: string): void {
    const { destination } = this.#both();
    const object = destination.store.get('', 'ConfigMap', namespace, name);
    if (object === undefined) throw new Error(`no ConfigMap ${name}`);
    const labels = { ...object.metadata.labels, touched: value };
    destination.store.update({ ...object, metadata: { ...object.metadata, labels } });
  }

  async close(): Promise<void> {
    await Promise.all([this.#hub?.close(), this.#destination?.close()]);
  }

  #countHub({ verb, group, resource }: SimRequest): void {
    if (group === argo && resource === 'applications' && verbs.has(verb)) this.#counts.applications += 1;
    else if (resource !== 'leases' && resource !== 'configmaps' && verb !== 'watch') this.#counts.hub += 1;
  }

  #both(): { readonly hub: SimCluster; readonly destination: SimCluster } {
    const [hub, destination] = [this.#hub, this.#destination];
    if (hub === undefined || destination === undefined) throw new Error('the servers are not started');
    return { hub, destination };
  }
}

/** Synced and Healthy, without an operation under way or a refresh asked for. */
function isSettled(object: KubeObject): boolean {
  const status = object['status'] as { sync?: { status?: string }; health?: { status?: string } } | undefined;
  return (
    status?.sync?.status === 'Synced' &&
    status.health?.status === 'Healthy' &&
    (object['operation'] ?? undefined) === undefined &&
    object.metadata.annotations?.[refresh] === undefined
  );
}

export function application({ name, repository, namespace }: Wanted, server: string): KubeObject {
  return {
    apiVersion: `${argo}/v1alpha1`,
    kind: 'Application',
    metadata: { name, namespace: 'argocd' },
    spec: {
      project: 'default',
      source: { repoURL: repository, path: name, targetRevision: 'main' },
      destination: { server, namespace },
      syncPolicy: { automated: { prune: true, selfHeal: true } },
    },
  };
}

/** Those that Argo CD installs. */
export function definitions(): readonly KubeObject[] {
  return ['application', 'appproject'].flatMap(
    (name) => parseYamlDocuments(readFileSync(`manifests/crds/${name}-crd.yaml`, 'utf8')) as unknown as KubeObject[],
  );
}

export const project: KubeObject = {
  apiVersion: `${argo}/v1alpha1`,
  kind: 'AppProject',
  metadata: { name: 'default', namespace: 'argocd' },
  spec: {
    sourceRepos: ['*'],
    destinations: [{ server: '*', namespace: '*' }],
    clusterResourceWhitelist: [{ group: '*', kind: '*' }],
  },
};

export function clusterSecret(server: string, config: JsonObject): KubeObject {
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: 'cluster-dest',
      namespace: 'argocd',
      labels: { 'argocd.argoproj.io/secret-type': 'cluster' },
    },
    data: { server: base64(server), name: base64('dest'), config: base64(JSON.stringify(config)) },
  };
}
