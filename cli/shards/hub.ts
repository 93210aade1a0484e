import { isObject, systemClock, systemRandom } from '#base';
import {
  apiResource,
  connectionFromKubeconfig,
  createKubeClient,
  inClusterConnection,
  isForbidden,
  isNotFound,
} from '#kube';
import type { KubeClient, LoadedConnection } from '#kube';
import { asApplication, labels } from '#model';
import type { ApiResource, Application, Cluster, KubeObject } from '#model';
import { matchesNamespacePattern, namespacePatternFault } from '#policy';
import { clusterList, parseClusterSecret, parseSettings } from '#settings';
import {
  clusterKey,
  countApplications,
  parseSlots,
  parseTable,
  partsOf,
  reportedRates,
  slotsConfigMap,
  tableConfigMap,
  weightsOf,
  withEvents,
} from '#sharding';
import type { TableDocument, Weighting } from '#sharding';
import { silentLogger } from '#telemetry';
import type { ListedCluster, Source } from './source.ts';

export interface HubQuery {
  /** Empty: the pod's own cluster. */
  readonly kubeconfig: string;
  readonly context: string;
  readonly namespace: string;
  readonly controllerName: string;
  /** Undefined: what the hub says. */
  readonly applicationNamespaces: readonly string[] | undefined;
  /** Undefined: as the published table has it, else 1. */
  readonly defaultParts: number | undefined;
  readonly weighting: Weighting;
  /** False when the number of replicas was given: then the workload is not looked at. */
  readonly needsReplicas: boolean;
  readonly signal: AbortSignal;
}

/**
 * What the controller of a live hub goes by: argocd-cm, argocd-cmd-params-cm, its workload, cluster Secrets, the Applications that it watches,
 * and the table that it has published. Reads only. Where rights are missing for what has a default, that is noted and the default holds.
 * @throws what the client throws when Secrets or Applications cannot be read; UsageError for a kubeconfig that does not do.
 */
export async function readHub(query: HubQuery): Promise<Source> {
  const loaded =
    query.kubeconfig === ''
      ? await inClusterConnection()
      : await connectionFromKubeconfig(query.kubeconfig, query.context === '' ? undefined : query.context);
  const reader = new HubReader(query, loaded);
  try {
    return await reader.read();
  } finally {
    await reader.close();
  }
}

const secretResource = apiResource('v1', 'Secret', 'secrets', 'namespaced');
const configMaps = apiResource('v1', 'ConfigMap', 'configmaps', 'namespaced');
const applicationResource = apiResource('argoproj.io/v1alpha1', 'Application', 'applications', 'namespaced');
const workloads = [
  apiResource('apps/v1', 'StatefulSet', 'statefulsets', 'namespaced'),
  apiResource('apps/v1', 'Deployment', 'deployments', 'namespaced'),
];

class HubReader {
  readonly #query: HubQuery;
  readonly #client: KubeClient;
  readonly #namespace: string;
  readonly #notes: string[] = [];
  readonly #forbidden: string[] = [];

  constructor(query: HubQuery, loaded: LoadedConnection) {
    this.#query = query;
    this.#namespace = query.namespace === '' ? loaded.namespace : query.namespace;
    const deps = { clock: systemClock, random: systemRandom, logger: silentLogger, userAgent: 'driftless-shards' };
    this.#client = createKubeClient(loaded.connection, deps);
  }

  async read(): Promise<Source> {
    const { weighting } = this.#query;
    const [settings, params, ownership, slots, secrets] = await Promise.all([
      this.#find(configMaps, 'argocd-cm'),
      this.#find(configMaps, 'argocd-cmd-params-cm'),
      this.#find(configMaps, tableConfigMap),
      weighting === 'measured' ? this.#find(configMaps, slotsConfigMap) : undefined,
      this.#list(secretResource, { namespace: this.#namespace, labelSelector: `${labels.secretType}=cluster` }),
    ]);
    const apps = await this.#applications(textData(params)['application.namespaces']);
    if (settings === undefined && secrets.length + apps.length === 0)
      this.#notes.push(
        `namespace ${this.#namespace} has no ConfigMap argocd-cm, no cluster Secret and no Application: is it the controller's? (-n NAMESPACE)`,
      );
    const published = this.#table(ownership);
    const { inClusterEnabled } = parseSettings(textData(settings)).settings;
    const clusters = this.#clusters(secrets, inClusterEnabled, published);
    const weights = weightsOf(clusters, apps, weighting);
    const holders = parseSlots(textData(slots));
    const algorithm = published?.algorithm ?? textData(params)['controller.sharding.algorithm'] ?? '';
    const replicas = published?.replicas ?? (this.#query.needsReplicas ? await this.#replicas() : 1);
    if (this.#forbidden.length > 0)
      this.#notes.push(`no right to read ${this.#forbidden.join(', ')}: going on with the defaults`);
    return {
      clusters,
      applications: countApplications(clusters, apps),
      weights: holders.state === 'ok' ? withEvents(weights, clusters, reportedRates(holders.value)) : weights,
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

  /** Undefined when it is not there, or not to be seen. */
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

  async #list(
    resource: ApiResource,
    where: { readonly namespace?: string; readonly labelSelector?: string },
  ): Promise<readonly KubeObject[]> {
    const items: KubeObject[] = [];
    let token: string | undefined;
    do {
      const page = await this.#client.list(resource, {
        ...where,
        signal: this.#query.signal,
        limit: 500,
        ...(token === undefined ? {} : { continue: token }),
      });
      items.push(...page.items);
      token = page.continue;
    } while (token !== undefined);
    return items;
  }

  /** Those that the controller watches: in its namespace, and in those that `--application-namespaces` names. */
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
      const found = await this.#list(applicationResource, named.length === 0 ? { namespace: own } : {});
      const isWatched = ({ metadata: { namespace = '' } }: KubeObject): boolean =>
        namespace === own || named.some((pattern) => matchesNamespacePattern(pattern, namespace));
      return found.filter(isWatched).map(asApplication);
    } catch (error) {
      if (isNotFound(error)) {
        this.#notes.push('the hub does not know the kind Application: are the CRDs of Argo CD installed?');
        return [];
      }
      if (!isForbidden(error) || named.length === 0) throw error;
      this.#notes.push(`no right to list Applications of all namespaces: only those of ${own} are counted`);
      return (await this.#list(applicationResource, { namespace: own })).map(asApplication);
    }
  }

  #table(object: KubeObject | undefined): TableDocument | undefined {
    if (object === undefined) return undefined;
    const found = parseTable(object as Parameters<typeof parseTable>[0]);
    if (found.state === 'broken')
      this.#notes.push(
        `ConfigMap ${this.#namespace}/${tableConfigMap} cannot be read, the table is computed: ${found.why}`,
      );
    return found.state === 'ok' ? found.value : undefined;
  }

  #clusters(
    secrets: readonly KubeObject[],
    inClusterEnabled: boolean,
    published: TableDocument | undefined,
  ): readonly ListedCluster[] {
    const parsed = secrets.flatMap((secret): Cluster[] => {
      const cluster = parseClusterSecret(secret);
      const name = `Secret ${this.#namespace}/${secret.metadata.name ?? ''}`;
      if ('error' in cluster) {
        this.#notes.push(`${name} is left out, as the controller does: ${cluster.error}`);
        return [];
      }
      if (cluster.problem !== undefined) this.#notes.push(`${name}: ${cluster.problem}`);
      return [cluster];
    });
    return clusterList(parsed, inClusterEnabled).map((cluster) => {
      const { id, server, name, shard } = cluster;
      const fallback = this.#query.defaultParts ?? published?.entries.get(clusterKey(server))?.shards.length ?? 1;
      const { parts, problem } = partsOf(cluster, fallback);
      if (problem !== undefined) this.#notes.push(problem);
      return { id, server, name, parts, ...(shard === undefined ? {} : { shard }) };
    });
  }

  /** What the workload of the controller is scaled to; 1 when nobody says. */
  async #replicas(): Promise<number> {
    const { controllerName } = this.#query;
    for (const resource of workloads) {
      const spec = (await this.#find(resource, controllerName))?.['spec'];
      if (spec === undefined) continue;
      const replicas = isObject(spec) ? spec['replicas'] : undefined;
      if (replicas === 0) this.#notes.push(`${resource.kind} ${controllerName} is scaled to 0: shown as for 1 replica`);
      return typeof replicas === 'number' ? replicas : 1;
    }
    return 1;
  }
}

function textData(object: KubeObject | undefined): Readonly<Record<string, string>> {
  const members = Object.entries(object?.['data'] ?? {});
  return Object.fromEntries(members.filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
}
