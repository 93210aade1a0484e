import { expect } from '@jest/globals';
import { seededRandom, SecretValue, Shutdown } from '#base';
import { SharedClients } from '#kube';
import { annotations, defaultSettings, resourceKey } from '#model';
import type { Cluster, KubeObject, ResourceKey, Settings } from '#model';
import type { FakeClock } from '#support';
import { PromMetrics, silentLogger } from '#telemetry';
import type { Logger } from '#telemetry';
import type { KindsInUse } from '../discovery/kinds-in-use.ts';
import type { LiveTuning } from '../watch/cluster-watch.ts';
import { createLiveClusters } from '../live-clusters.ts';
import { FakeServer } from './fake-server.ts';
import type { KindState, LiveChange, LiveCluster, LiveClusters, LiveRow } from '../types.ts';

/** A ConfigMap that an Application tracks. */
export function tracked(
  name: string,
  app = 'shop',
  extra: Record<string, unknown> = {},
): Parameters<FakeServer['put']>[0] {
  const tracking = { [annotations.trackingId]: `${app}:/ConfigMap:ns/${name}` };
  return { kind: 'ConfigMap', metadata: { name, namespace: 'ns', annotations: tracking }, ...extra };
}

export function clusterAt(server: string, extra: Partial<Cluster> = {}, token = 'one'): Cluster {
  const credentials = { bearerToken: new SecretValue(token) };
  return {
    id: 'u',
    server,
    name: 'a',
    namespaces: [],
    clusterResources: false,
    labels: {},
    annotations: {},
    connection: { server, insecure: false, credentials },
    ...extra,
  };
}

/** The address of the server under test. */
export const url = 'https://a';

/** The key of a ConfigMap in the namespace of all fixtures. */
export const configMap = (name: string): ResourceKey => resourceKey('', 'ConfigMap', 'ns', name);

export const crd = (name: string): KubeObject => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name },
});

/** Makes the server serve CustomResourceDefinitions. */
export function withCrds(server: FakeServer): void {
  server.serve('apiextensions.k8s.io', 'v1', 'CustomResourceDefinition', false);
}

export interface LiveWorld {
  readonly server: FakeServer;
  readonly clock: FakeClock;
  readonly live: LiveClusters;
  readonly clients: SharedClients;
  readonly metrics: PromMetrics;
  /** Change events emitted so far. */
  readonly changes: LiveChange[];
  readonly signal: AbortSignal;
  readonly cluster: () => LiveCluster;
  /** Stops watching and checks that nothing is left behind. */
  stop(): Promise<void>;
}

/**
 * Watches a server with ConfigMaps, Pods and Deployments, in virtual time.
 * @param prepare runs before the first list.
 */
export async function world(
  prepare: (server: FakeServer) => void = () => undefined,
  options: {
    cluster?: Cluster;
    settings?: Settings;
    tuning?: Partial<LiveTuning>;
    logger?: Logger;
    kindsInUse?: KindsInUse;
    /** Further servers by address. */
    others?: ReadonlyMap<string, FakeServer>;
  } = {},
): Promise<LiveWorld> {
  const server = new FakeServer();
  server.serve('', 'v1', 'ConfigMap');
  server.serve('', 'v1', 'Pod');
  server.serve('apps', 'v1', 'Deployment');
  prepare(server);
  const { clock } = server;
  const metrics = new PromMetrics();
  const controller = new AbortController();
  const clients = new SharedClients((connection) =>
    (options.others?.get(connection.server) ?? server).client(connection),
  );
  const live = createLiveClusters({
    clock,
    metrics,
    random: seededRandom(1),
    logger: options.logger ?? silentLogger,
    clients,
    tuning: { relistMs: 0, auditMs: 0, ...options.tuning },
    kindsInUse: options.kindsInUse,
  });
  const changes: LiveChange[] = [];
  live.onChange((change) => changes.push(change));
  const others = [...(options.others?.keys() ?? [])].map((other) => clusterAt(other));
  live.setClusters([options.cluster ?? clusterAt(url), ...others], options.settings ?? defaultSettings);
  const running = live.run(controller.signal);
  await clock.advance(0);
  const cluster = (): LiveCluster => {
    const found = live.peek(url);
    if (found === undefined) throw new Error('the cluster is not watched');
    return found;
  };
  const stop = async (): Promise<void> => {
    controller.abort(new Shutdown());
    await running;
    expect(clock.pending).toBe(0);
    expect(server.watching()).toEqual([]);
  };
  return { server, clock, live, clients, metrics, changes, cluster, stop, signal: controller.signal };
}

/** The cached row of a key. */
export async function row(w: LiveWorld, key: ResourceKey): Promise<LiveRow | undefined> {
  return (await w.cluster().rows([key], w.signal)).get(key);
}

/** The state of a kind, by its name. */
export function stateOf(w: LiveWorld, name: string): KindState | undefined {
  return w
    .cluster()
    .info()
    .kinds.find(({ kind }) => kind === name);
}

/** The sorted names of the live objects of an Application. */
export async function managedNames(
  w: LiveWorld,
  app = 'shop',
  targets: readonly KubeObject[] = [],
): Promise<readonly string[]> {
  const { objects } = await w.cluster().managed({ app, targets }, w.signal);
  return [...objects.values()].map((object) => object.metadata.name ?? '').sort();
}
