import { readFileSync } from 'node:fs';
import { parseYamlDocuments, seededRandom, systemClock } from '#base';
import type { JsonObject } from '#base';
import type { KubeObject } from '#model';
import { startSimCluster } from '#sim';
import type { SimCluster, SimRequest } from '#sim';
import { openProject } from '#support';

/** An Application to create. */
export interface WantedApplication {
  readonly name: string;
  readonly repository: string;
  /** `spec.destination.namespace`, which is created. */
  readonly namespace: string;
  /** Folder in the repository; default: the name. */
  readonly path?: string;
  /** Default: true. */
  readonly isAutomated?: boolean;
}

/** A refresh to request. */
export interface RefreshKind {
  /** Default: normal. */
  readonly type?: 'normal' | 'hard';
  readonly round?: string;
}

/** Number of requests by the controller so far. */
export interface RequestCounts {
  /** Patches and updates of Applications. */
  readonly applications: number;
  /** All other hub requests, except leases (objects or ConfigMaps) and watches. */
  readonly hub: number;
  /** Creates, patches, updates and deletes in the destination cluster. */
  readonly writes: number;
  /** All requests to the destination cluster, except watches. */
  readonly destination: number;
}

const argoGroup = 'argoproj.io';
const refreshAnnotation = 'argocd.argoproj.io/refresh';
const refreshTimestampAnnotation = 'argocd.argoproj.io/refresh-timestamp';
const writeVerbs = new Set(['create', 'patch', 'update', 'delete']);
/** Polling interval of waits. */
const pollIntervalMs = 5;

/**
 * A simulated hub and one simulated cluster, with the actions of users. All arguments and results
 * are plain JSON, so that it can run in another process: the controller's process then measures
 * only the controller.
 */
export class SimServers {
  #hub: SimCluster | undefined;
  #destination: SimCluster | undefined;
  /**
   * Names of settled Applications, updated by events: listing all of them at each poll would cost
   * more than the measured work.
   */
  readonly #settled = new Set<string>();
  readonly #counts = { applications: 0, hub: 0, writes: 0, destination: 0 };

  /** Starts both servers and returns their URLs. */
  async start(): Promise<{ readonly hub: string; readonly destination: string }> {
    const common = { clock: systemClock, random: seededRandom(2), workloads: { enabled: true, delayMs: 5 } };
    const hub = await startSimCluster({ ...common, name: 'hub', crds: readArgoCrds() });
    const destination = await startSimCluster({ ...common, name: 'dest' });
    [this.#hub, this.#destination] = [hub, destination];
    hub.store.subscribe(({ object }) => {
      if (object.kind !== 'Application') return;
      if (isSettled(object)) this.#settled.add(object.metadata.name ?? '');
      else this.#settled.delete(object.metadata.name ?? '');
    });
    hub.onRequest((request) => this.#countHub(request));
    destination.onRequest(({ verb }) => {
      if (writeVerbs.has(verb)) this.#counts.writes += 1;
      if (verb !== 'watch') this.#counts.destination += 1;
    });
    const objects: KubeObject[] = [
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'argocd' } },
      clusterSecret(destination.url, {}),
      openProject(),
    ];
    for (const object of objects) hub.store.create(object);
    return { hub: hub.url, destination: destination.url };
  }

  create(wanted: readonly WantedApplication[]): void {
    const { hub, destination } = this.#both();
    for (const namespace of new Set(wanted.map((one) => one.namespace)))
      if (destination.store.get('', 'Namespace', '', namespace) === undefined)
        destination.store.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
    for (const one of wanted) hub.store.create(applicationOf(one, destination.url));
  }

  /**
   * Waits until `count` Applications are Synced and Healthy, without a running operation or a
   * requested refresh.
   */
  async settled(count: number): Promise<void> {
    while (this.#settled.size < count) await systemClock.sleep(pollIntervalMs);
  }

  requests(): RequestCounts {
    return { ...this.#counts };
  }

  /**
   * Requests a refresh of each Application, like Argo CD's API server.
   * @param round changes the Application too, so that its inputs are no longer proven equal.
   */
  ask(names: readonly string[], { type = 'normal', round }: RefreshKind = {}): void {
    const { hub } = this.#both();
    for (const name of names) {
      const object = hub.store.get(argoGroup, 'Application', 'argocd', name);
      if (object === undefined) throw new Error(`no application ${name}`);
      const annotations = {
        ...object.metadata.annotations,
        [refreshAnnotation]: type,
        [refreshTimestampAnnotation]: new Date(systemClock.now()).toISOString(),
        ...(round === undefined ? {} : { 'example.com/round': round }),
      };
      hub.store.update({ ...object, metadata: { ...object.metadata, annotations } });
    }
  }

  /** Starts a sync like `argocd app sync`; waits until it is done. */
  async sync(name: string): Promise<void> {
    const { hub } = this.#both();
    const object = hub.store.get(argoGroup, 'Application', 'argocd', name);
    if (object === undefined) throw new Error(`no application ${name}`);
    const operation = { sync: {}, initiatedBy: { username: 'me' } };
    hub.store.update({ ...object, operation });
    const isDone = (): boolean =>
      (hub.store.get(argoGroup, 'Application', 'argocd', name)?.['operation'] ?? undefined) === undefined;
    while (!isDone()) await systemClock.sleep(pollIntervalMs);
  }

  /** Changes a value of a ConfigMap by hand; returns the milliseconds until it is repaired. */
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

  /** Adds a label that no manifest has to a ConfigMap: a change without a difference. */
  touch(namespace: string, name: string, value: string): void {
    const { destination } = this.#both();
    const object = destination.store.get('', 'ConfigMap', namespace, name);
    if (object === undefined) throw new Error(`no ConfigMap ${name}`);
    const labels = { ...object.metadata.labels, touched: value };
    destination.store.update({ ...object, metadata: { ...object.metadata, labels } });
  }

  /** Overwrites a value of a ConfigMap of an Application without self-heal. */
  overwrite(namespace: string, name: string): void {
    const { destination } = this.#both();
    const object = destination.store.get('', 'ConfigMap', namespace, name);
    if (object === undefined) throw new Error(`no ConfigMap ${name}`);
    destination.store.update({ ...object, data: { key: 'changed by hand' } });
  }

  async close(): Promise<void> {
    await Promise.all([this.#hub?.close(), this.#destination?.close()]);
  }

  #countHub({ verb, group, resource }: SimRequest): void {
    if (group === argoGroup && resource === 'applications' && writeVerbs.has(verb)) this.#counts.applications += 1;
    else if (resource !== 'leases' && resource !== 'configmaps' && verb !== 'watch') this.#counts.hub += 1;
  }

  #both(): { readonly hub: SimCluster; readonly destination: SimCluster } {
    const [hub, destination] = [this.#hub, this.#destination];
    if (hub === undefined || destination === undefined) throw new Error('the servers are not started');
    return { hub, destination };
  }
}

/** Synced and Healthy, without a running operation or a requested refresh. */
export function isSettled(object: KubeObject): boolean {
  const status = object['status'] as { sync?: { status?: string }; health?: { status?: string } } | undefined;
  return (
    status?.sync?.status === 'Synced' &&
    status.health?.status === 'Healthy' &&
    (object['operation'] ?? undefined) === undefined &&
    object.metadata.annotations?.[refreshAnnotation] === undefined
  );
}

export function applicationOf(
  { name, repository, namespace, path = name, isAutomated = true }: WantedApplication,
  server: string,
): KubeObject {
  return {
    apiVersion: `${argoGroup}/v1alpha1`,
    kind: 'Application',
    metadata: { name, namespace: 'argocd' },
    spec: {
      project: 'default',
      source: { repoURL: repository, path, targetRevision: 'main' },
      destination: { server, namespace },
      ...(isAutomated ? { syncPolicy: { automated: { prune: true, selfHeal: true } } } : {}),
    },
  };
}

/** The CustomResourceDefinitions that Argo CD installs. */
export function readArgoCrds(): readonly KubeObject[] {
  return ['application', 'appproject'].flatMap(
    (name) => parseYamlDocuments(readFileSync(`manifests/crds/${name}-crd.yaml`, 'utf8')) as unknown as KubeObject[],
  );
}

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
