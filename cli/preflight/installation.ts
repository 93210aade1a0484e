import { defined, DriftlessError } from '#base';
import { isForbidden, isNotFound, unlessNotFound } from '#kube';
import type { KubeClient, ListOptions } from '#kube';
import { asApplication, asProject, labelOf, labels } from '#model';
import type { ApiResource, AppProject, Application, Cluster, ClusterConnection, KubeObject } from '#model';
import { matchesNamespacePattern } from '#policy';
import { clusterList, parseClusterSecret, parseRepositorySecret, parseSettings } from '#settings';
import type { SettingsProblem } from '#settings';
import { hubKinds, listAll, textData } from '../process/hub.ts';
import { repositoryFacts, workloadFacts } from './facts.ts';
import type { InstallationFacts, RepositoryFacts, WorkloadFacts } from './facts.ts';

/** A required read failed, so there is no report. */
class PreflightReadError extends DriftlessError {
  constructor(message: string, cause?: unknown) {
    super('PREFLIGHT_READ', message, { retry: 'never', ...defined({ cause }) });
  }
}

export interface InstallationQuery {
  /** A read-only client. */
  readonly client: KubeClient;
  readonly namespace: string;
  /**
   * Connection to the hub, also used for `https://kubernetes.default.svc`, so that it works from a
   * laptop.
   */
  readonly hub: ClusterConnection;
  readonly signal: AbortSignal;
}

/** An installation, with the trust data of its repositories. */
export interface ReadInstallation extends InstallationFacts {
  /** argocd-ssh-known-hosts-cm: contents of a known_hosts file. */
  readonly knownHosts: string | undefined;
  /** argocd-tls-certs-cm: CA bundles by host. */
  readonly certificates: Readonly<Record<string, string>>;
  /** Notes for the user, one line each. */
  readonly notes: readonly string[];
}

const { applications, configMaps, deployments, projects, secrets, statefulSets } = hubKinds;
const workloadName = 'argocd-application-controller';
const repoServerName = 'argocd-repo-server';

/**
 * Reads an installation of Argo CD with about two dozen read requests. Missing rights for anything
 * that has a default become notes.
 * @throws CouldNotLook if Applications, projects, settings or Secrets cannot be read: which right
 * is missing, and where it is documented.
 */
export async function readInstallation(query: InstallationQuery): Promise<ReadInstallation> {
  return new InstallationReader(query).read();
}

class InstallationReader {
  readonly #query: InstallationQuery;
  readonly #notes: string[] = [];

  constructor(query: InstallationQuery) {
    this.#query = query;
  }

  async read(): Promise<ReadInstallation> {
    const { namespace } = this.#query;
    const [cm, params, knownHosts, certificates, found, appProjects, workload, repoServer] = await Promise.all([
      this.#needed('get', configMaps, () => this.#find('argocd-cm')),
      this.#optional(() => this.#find('argocd-cmd-params-cm'), 'ConfigMap argocd-cmd-params-cm: its defaults hold'),
      this.#optional(() => this.#find('argocd-ssh-known-hosts-cm'), 'ConfigMap argocd-ssh-known-hosts-cm'),
      this.#optional(() => this.#find('argocd-tls-certs-cm'), 'ConfigMap argocd-tls-certs-cm'),
      this.#needed('list', secrets, () =>
        this.#list(secrets, {
          namespace,
          labelSelector: `${labels.secretType} in (cluster,repo-creds,repository,repo-write-creds,repository-write)`,
        }),
      ),
      this.#needed('list', projects, () => this.#list(projects, { namespace })),
      this.#optional(() => this.#workload(), `StatefulSet and Deployment ${workloadName}`),
      this.#optional(() => this.#repoServer(), `Deployment ${repoServerName}: variables that it sets are not reported`),
    ]);
    const values = textData(params);
    const apps = await this.#applications(values['application.namespaces'] ?? '');
    const { settings, problems, notes: weaker } = parseSettings(textData(cm));
    const clusters = this.#clusters(found, settings.inClusterEnabled);
    if (cm === undefined && apps.length === 0)
      throw new PreflightReadError(
        `namespace ${namespace} has no ConfigMap argocd-cm and no Application: set the namespace of Argo CD with -n NAMESPACE`,
      );
    return {
      namespace,
      settings,
      problems: [...problems, ...secretProblems(found)],
      weaker,
      hasSettings: cm !== undefined,
      labelled: cm === undefined || labelOf(cm, labels.partOf) === 'argocd',
      params: values,
      clusters,
      repositories: repositoriesOf(found),
      projects: new Map(appProjects.map((object): [string, AppProject] => [objectName(object), asProject(object)])),
      applications: apps,
      workload,
      repoServer,
      knownHosts: textData(knownHosts)['ssh_known_hosts'],
      certificates: textData(certificates),
      notes: this.#notes,
    };
  }

  /**
   * Applications that Argo CD watches: in its own namespace, and in those of
   * `application.namespaces`.
   */
  async #applications(configured: string): Promise<readonly Application[]> {
    const own = this.#query.namespace;
    const named = configured.split(',').map((pattern) => pattern.trim());
    const patterns = named.filter((pattern) => pattern !== '');
    const where = patterns.length === 0 ? { namespace: own } : {};
    const found = await this.#needed('list', applications, () => this.#list(applications, where), where.namespace);
    const isWatched = ({ metadata: { namespace = '' } }: KubeObject): boolean =>
      namespace === own || patterns.some((pattern) => matchesNamespacePattern(pattern, namespace));
    return found.filter(isWatched).map(asApplication);
  }

  #clusters(found: readonly KubeObject[], inClusterEnabled: boolean): readonly Cluster[] {
    const { hub } = this.#query;
    const parsed = found
      .filter((secret) => typeOf(secret) === 'cluster')
      .map((secret) => parseClusterSecret(secret, hub));
    return clusterList(parsed, inClusterEnabled, hub);
  }

  async #workload(): Promise<WorkloadFacts | undefined> {
    for (const resource of [statefulSets, deployments]) {
      const object = await this.#get(resource, workloadName);
      // With dynamic distribution the StatefulSet remains, scaled to 0, beside the Deployment.
      if (object !== undefined && workloadFacts(object).replicas > 0) return workloadFacts(object);
    }
    return undefined;
  }

  async #repoServer(): Promise<WorkloadFacts | undefined> {
    const object = await this.#get(deployments, repoServerName);
    return object === undefined ? undefined : workloadFacts(object);
  }

  #find(name: string): Promise<KubeObject | undefined> {
    return this.#get(configMaps, name);
  }

  /** Undefined if the object does not exist. */
  #get(resource: ApiResource, name: string): Promise<KubeObject | undefined> {
    const { client, namespace, signal } = this.#query;
    return unlessNotFound(client.get(resource, { namespace, name }, { signal }));
  }

  #list(resource: ApiResource, where: Omit<ListOptions, 'signal'>): Promise<readonly KubeObject[]> {
    const { client, signal } = this.#query;
    return listAll(client, resource, { ...where, signal }, (object) => object);
  }

  async #optional<T>(read: () => Promise<T | undefined>, what: string): Promise<T | undefined> {
    try {
      return await read();
    } catch (error) {
      if (!isForbidden(error)) throw error;
      this.#notes.push(`not permitted to read ${what}`);
      return undefined;
    }
  }

  async #needed<T>(
    ...[verb, resource, read, namespace = this.#query.namespace]: [string, ApiResource, () => Promise<T>, string?]
  ): Promise<T> {
    const where = namespace === '' ? 'all namespaces' : `namespace ${namespace}`;
    try {
      return await read();
    } catch (error) {
      if (isForbidden(error))
        throw new PreflightReadError(
          `no right to ${verb} ${resource.resource} in ${where}: docs/migrate-from-argocd.md lists the rights that preflight needs`,
          error,
        );
      if (resource.group === 'argoproj.io' && isNotFound(error))
        throw new PreflightReadError(
          `${this.#query.client.server} does not know ${resource.kind}s: is Argo CD in another cluster?`,
          error,
        );
      throw error;
    }
  }
}

function typeOf(secret: KubeObject): string | undefined {
  return labelOf(secret, labels.secretType);
}

function objectName({ metadata }: KubeObject): string {
  return metadata.name ?? '';
}

function repositoriesOf(found: readonly KubeObject[]): readonly RepositoryFacts[] {
  return found
    .filter((secret) => typeOf(secret) !== 'cluster')
    .map((secret) => repositoryFacts(secret, typeOf(secret) === 'repo-creds'))
    .filter((facts) => facts !== undefined);
}

/** Secrets with errors. Messages name keys, never values. */
function secretProblems(found: readonly KubeObject[]): readonly SettingsProblem[] {
  return found.flatMap((secret): SettingsProblem[] => {
    const parsed = typeOf(secret) === 'cluster' ? parseClusterSecret(secret) : parseRepositorySecret(secret);
    const object = `Secret ${secret.metadata.namespace ?? ''}/${objectName(secret)}`;
    if ('error' in parsed) return [{ object, message: parsed.error }];
    return 'problem' in parsed ? [{ object, message: parsed.problem }] : [];
  });
}
