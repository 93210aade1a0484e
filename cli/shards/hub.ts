import { defined, isObject } from '#base';
import { isForbidden, isNotFound } from '#kube';
import type { KubeClient, LoadedConnection } from '#kube';
import { asApplication, labels } from '#model';
import type { ApiResource, Application, KubeObject } from '#model';
import { matchesNamespacePattern, namespacePatternFault } from '#policy';
import { chooseClusters, clusterList, parseClusterSecret, parseSettings } from '#settings';
import {
  clusterKey,
  countApplications,
  parseSlots,
  parseTable,
  partFinder,
  partsOf,
  reportedRates,
  slotsConfigMap,
  tableConfigMap,
  weightsOf,
  addEventWeights,
} from '#sharding';
import type { TableDocument, ClusterWeighting } from '#sharding';
import { hubKinds, listAll, loadConnection, readOnlyClient, textData } from '../process/hub.ts';
import type { ListedCluster, FleetSource } from './source.ts';

export interface HubQuery {
  /** Empty: the in-cluster configuration. */
  readonly kubeconfig: string;
  readonly context: string;
  readonly namespace: string;
  readonly controllerName: string;
  /** Undefined: as configured in the hub. */
  readonly applicationNamespaces: readonly string[] | undefined;
  /** Undefined: as in the published table, otherwise 1. */
  readonly defaultParts: number | undefined;
  readonly weighting: ClusterWeighting;
  /** False if the number of replicas was set: the workload is not read then. */
  readonly needsReplicas: boolean;
  readonly signal: AbortSignal;
}

/**
 * Inputs of the controller in a live hub: argocd-cm, argocd-cmd-params-cm, its workload, cluster
 * Secrets, watched Applications and the published table. Reads only. Missing rights for anything
 * that has a default become notes.
 * @throws errors of the client if Secrets or Applications cannot be read; UsageError for an invalid
 * kubeconfig.
 */
export async function readHub(query: HubQuery): Promise<FleetSource> {
  const reader = new HubReader(query, await loadConnection(query.kubeconfig, query.context));
  try {
    return await reader.read();
  } finally {
    await reader.close();
  }
}

const { applications, configMaps, deployments, secrets, statefulSets } = hubKinds;

class HubReader {
  readonly #query: HubQuery;
  readonly #client: KubeClient;
  readonly #namespace: string;
  readonly #notes: string[] = [];
  readonly #forbidden: string[] = [];

  constructor(query: HubQuery, loaded: LoadedConnection) {
    this.#query = query;
    this.#namespace = query.namespace === '' ? loaded.namespace : query.namespace;
    this.#client = readOnlyClient(loaded.connection, 'driftless-shards');
  }

  async read(): Promise<FleetSource> {
    const { signal, weighting } = this.#query;
    const clustersOnly = { signal, namespace: this.#namespace, labelSelector: `${labels.secretType}=cluster` };
    const [settings, params, ownership, slots, found] = await Promise.all([
      this.#find(configMaps, 'argocd-cm'),
      this.#find(configMaps, 'argocd-cmd-params-cm'),
      this.#find(configMaps, tableConfigMap),
      weighting === 'measured' ? this.#find(configMaps, slotsConfigMap) : undefined,
      listAll(this.#client, secrets, clustersOnly, (secret) => secret),
    ]);
    const apps = await this.#applications(textData(params)['application.namespaces']);
    if (settings === undefined && found.length + apps.length === 0)
      this.#notes.push(
        `namespace ${this.#namespace} has no ConfigMap argocd-cm, no cluster Secret and no Application: set the namespace of the controller with -n NAMESPACE`,
      );
    const published = this.#table(ownership);
    const { inClusterEnabled } = parseSettings(textData(settings)).settings;
    const clusters = this.#clusters(found, inClusterEnabled, published);
    const weights = weightsOf(clusters, apps, weighting);
    const holders = parseSlots(textData(slots));
    const algorithm = published?.algorithm ?? textData(params)['controller.sharding.algorithm'] ?? '';
    const replicas = published?.replicas ?? (this.#query.needsReplicas ? await this.#replicas() : 1);
    if (this.#forbidden.length > 0)
      this.#notes.push(`not permitted to read ${this.#forbidden.join(', ')}: using the defaults`);
    return {
      clusters,
      applications: countApplications(clusters, apps),
      namespaces: namespacesOf(clusters, apps),
      weights: holders.state === 'ok' ? addEventWeights(weights, clusters, reportedRates(holders.value)) : weights,
      weighting,
      published,
      hub: this.#namespace,
      defaults: { replicas: Math.max(1, replicas), algorithm: algorithm === '' ? 'legacy' : algorithm },
      notes: this.#notes,
    };
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  /** Undefined if it does not exist or cannot be read. */
  async #find(resource: ApiResource, name: string): Promise<KubeObject | undefined> {
    try {
      const { signal } = this.#query;
      return await this.#client.get(resource, { namespace: this.#namespace, name }, { signal });
    } catch (error) {
      if (isForbidden(error)) this.#forbidden.push(`${resource.kind} ${name}`);
      else if (!isNotFound(error)) throw error;
      return undefined;
    }
  }

  /**
   * Applications that the controller watches: in its namespace, and in those of `--application-
   * namespaces`.
   */
  async #applications(configured: string | undefined): Promise<readonly Application[]> {
    const patterns =
      this.#query.applicationNamespaces ?? (configured ?? '').split(',').map((pattern) => pattern.trim());
    const named = patterns.filter((pattern) => pattern !== '');
    for (const pattern of named) {
      const fault = namespacePatternFault(pattern);
      if (fault !== undefined) this.#notes.push(`the namespace pattern ${pattern} matches nothing: ${fault}`);
    }
    const own = this.#namespace;
    try {
      const found = await this.#listApplications(named.length === 0 ? own : undefined);
      const isWatched = ({ metadata: { namespace = '' } }: Application): boolean =>
        namespace === own || named.some((pattern) => matchesNamespacePattern(pattern, namespace));
      return found.filter(isWatched);
    } catch (error) {
      if (isNotFound(error)) {
        this.#notes.push('the hub does not serve the kind Application: install the CRDs of Argo CD');
        return [];
      }
      if (!isForbidden(error) || named.length === 0) throw error;
      this.#notes.push(`not permitted to list Applications in all namespaces: counting those in ${own} only`);
      return this.#listApplications(own);
    }
  }

  #listApplications(namespace: string | undefined): Promise<readonly Application[]> {
    return listAll(
      this.#client,
      applications,
      { signal: this.#query.signal, ...defined({ namespace }) },
      asApplication,
    );
  }

  #table(object: KubeObject | undefined): TableDocument | undefined {
    if (object === undefined) return undefined;
    const found = parseTable(object as Parameters<typeof parseTable>[0]);
    if (found.state === 'broken')
      this.#notes.push(
        `ConfigMap ${this.#namespace}/${tableConfigMap} cannot be read, computing the table: ${found.why}`,
      );
    return found.state === 'ok' ? found.value : undefined;
  }

  #clusters(
    secrets: readonly KubeObject[],
    inClusterEnabled: boolean,
    published: TableDocument | undefined,
  ): readonly ListedCluster[] {
    const parsed = secrets.map((secret) => {
      const cluster = parseClusterSecret(secret);
      const name = `Secret ${this.#namespace}/${secret.metadata.name ?? ''}`;
      if ('error' in cluster) this.#notes.push(`${name} is ignored, as by the controller: ${cluster.error}`);
      else if (cluster.problem !== undefined) this.#notes.push(`${name}: ${cluster.problem}`);
      return cluster;
    });
    const listed = clusterList(parsed, inClusterEnabled);
    const chosen = new Map(chooseClusters(listed).map((cluster) => [cluster.server, cluster]));
    return listed.map((own) => {
      // The chosen Secret of a URL determines the shard; the others only contribute their names.
      const cluster = chosen.get(own.server) ?? own;
      const { id, server, shard } = cluster;
      const { name } = own;
      const fallback = this.#query.defaultParts ?? published?.entries.get(clusterKey(server))?.shards.length ?? 1;
      const { parts, problem } = partsOf(cluster, fallback);
      if (problem !== undefined) this.#notes.push(problem);
      return { id, server, name, parts, ...defined({ shard }) };
    });
  }

  /** Replicas of the controller's workload; 1 if unknown. */
  async #replicas(): Promise<number> {
    const { controllerName } = this.#query;
    for (const resource of [statefulSets, deployments]) {
      const spec = (await this.#find(resource, controllerName))?.['spec'];
      if (spec === undefined) continue;
      const replicas = isObject(spec) ? spec['replicas'] : undefined;
      if (replicas === 0) this.#notes.push(`${resource.kind} ${controllerName} is scaled to 0: assuming 1 replica`);
      return typeof replicas === 'number' ? replicas : 1;
    }
    return 1;
  }
}

function namespacesOf(
  clusters: readonly ListedCluster[],
  apps: readonly Application[],
): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>();
  const partOf = partFinder(clusters);
  for (const app of apps) {
    const part = partOf(app);
    if (part === undefined) continue;
    const names = found.get(part) ?? new Set<string>();
    found.set(part, names.add(app.spec.destination.namespace ?? ''));
  }
  return found;
}
