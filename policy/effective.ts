import { globMatch, isObject } from '#base';
import type { JsonObject } from '#base';
import type { AppProject, AppProjectSpec, Cluster, ProjectDestination, Repository, Settings } from '#model';

/** What an effective project is made of besides the AppProject. */
export interface ProjectSources {
  readonly globalProjects: Settings['globalProjects'];
  /** An AppProject by name, from the controller's namespace; undefined when there is none. */
  readonly lookup: (name: string) => AppProject | undefined;
  readonly repositories: readonly Pick<Repository, 'url' | 'project'>[];
  readonly clusters: readonly Pick<Cluster, 'server' | 'namespaces' | 'project'>[];
}

/**
 * The project as it is enforced (Argo CD: GetAppProjectByName): repositories and clusters whose Secrets name it are permitted, and the
 * lists of every matching global project are appended. A global project with a bad selector, or one that does not exist, ends the
 * search for more, as upstream does.
 */
export function effectiveProject(project: AppProject, sources: ProjectSources): AppProject {
  const name = project.metadata.name ?? '';
  const urls = sources.repositories.filter((repository) => repository.project === name).map(({ url }) => url);
  const scoped = sources.clusters.filter((cluster) => cluster.project === name).flatMap(destinationsOf);
  let spec: AppProjectSpec = {
    ...project.spec,
    ...appended('sourceRepos', project.spec, urls),
    ...appended('destinations', project.spec, scoped),
  };
  for (const { projectName, labelSelector } of sources.globalProjects) {
    if (projectName === name) continue;
    const matches = matchesSelector(labelSelector, project.metadata.labels ?? {});
    if (matches === undefined) break;
    if (!matches) continue;
    const global = sources.lookup(projectName);
    if (global === undefined) break;
    spec = inherit(spec, global.spec);
  }
  return { ...project, spec };
}

function destinationsOf(cluster: Pick<Cluster, 'server' | 'namespaces'>): readonly ProjectDestination[] {
  const namespaces = cluster.namespaces.length === 0 ? ['*'] : cluster.namespaces;
  return namespaces.map((namespace) => ({ server: cluster.server, namespace }));
}

const inherited = [
  'clusterResourceWhitelist',
  'clusterResourceBlacklist',
  'namespaceResourceWhitelist',
  'namespaceResourceBlacklist',
  'syncWindows',
  'sourceRepos',
  'destinations',
  'destinationServiceAccounts',
] as const;

function inherit(spec: AppProjectSpec, global: AppProjectSpec): AppProjectSpec {
  let result = spec;
  for (const field of inherited) result = { ...result, ...appended(field, result, global[field] ?? []) };
  return result;
}

/** Nothing appended leaves an absent list absent: absent and empty differ for `namespaceResourceWhitelist`. */
function appended<K extends (typeof inherited)[number]>(
  field: K,
  spec: AppProjectSpec,
  more: NonNullable<AppProjectSpec[K]>,
): Partial<AppProjectSpec> {
  return more.length === 0 ? {} : { [field]: [...(spec[field] ?? []), ...more] };
}

/** Kubernetes label selector; undefined when it is not one. An empty selector matches everything. */
function matchesSelector(selector: JsonObject, labels: Readonly<Record<string, string>>): boolean | undefined {
  const has = (key: string): boolean => Object.hasOwn(labels, key);
  const matchLabels = selector['matchLabels'] ?? {};
  if (!isObject(matchLabels)) return undefined;
  let matches = Object.entries(matchLabels).every(([key, value]) => has(key) && labels[key] === value);
  const expressions = selector['matchExpressions'] ?? [];
  if (!Array.isArray(expressions)) return undefined;
  for (const expression of expressions as readonly unknown[]) {
    if (!isObject(expression) || typeof expression['key'] !== 'string') return undefined;
    const key = expression['key'];
    const values = Array.isArray(expression['values']) ? (expression['values'] as readonly unknown[]) : [];
    const verdict = requirement(expression['operator'], values, has(key) ? labels[key] : undefined);
    if (verdict === undefined) return undefined;
    matches &&= verdict;
  }
  return matches;
}

function requirement(operator: unknown, values: readonly unknown[], value: string | undefined): boolean | undefined {
  switch (operator) {
    case 'In':
      return values.length === 0 ? undefined : value !== undefined && values.includes(value);
    case 'NotIn':
      return values.length === 0 ? undefined : value === undefined || !values.includes(value);
    case 'Exists':
      return values.length > 0 ? undefined : value !== undefined;
    case 'DoesNotExist':
      return values.length > 0 ? undefined : value === undefined;
    default:
      return undefined;
  }
}

/** The user to impersonate, "" when no entry matches, or why the entry that matches cannot be used. */
export type ImpersonationTarget = { readonly user: string } | { readonly error: string };

/**
 * Whom to be on the destination cluster (Argo CD: util/settings/impersonation.go): the first entry of `destinationServiceAccounts` whose
 * server and namespace patterns match. An empty namespace pattern matches only an empty destination namespace.
 */
export function impersonationTarget(
  project: AppProject,
  server: string,
  destinationNamespace: string,
  appNamespace: string,
): ImpersonationTarget {
  const entry = (project.spec.destinationServiceAccounts ?? []).find(
    (item) => globMatch(item.server, server) && globMatch(item.namespace ?? '', destinationNamespace),
  );
  if (entry === undefined) return { user: '' };
  const account = entry.defaultServiceAccount;
  if (account.trim() === '' || /[!*[\]{}\\/]/.test(account))
    return { error: `default service account contains invalid chars '${account}'` };
  if (account.includes(':')) return { user: `system:serviceaccount:${account}` };
  const namespace = destinationNamespace === '' ? appNamespace : destinationNamespace;
  return { user: `system:serviceaccount:${namespace}:${account}` };
}
