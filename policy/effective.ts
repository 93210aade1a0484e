import { compileGlob, isObject } from '#base';
import type { JsonObject } from '#base';
import { serverPattern } from '#model';
import type { AppProject, AppProjectSpec, Cluster, ProjectDestination, Repository, Settings } from '#model';
import { listOf, textOf } from './readable.ts';

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
  for (const field of inherited) result = { ...result, ...appended(field, result, listOf(global[field])) };
  return result;
}

/** Nothing appended leaves an absent list absent: absent and empty differ for `namespaceResourceWhitelist`. */
function appended(
  field: (typeof inherited)[number],
  spec: AppProjectSpec,
  more: readonly unknown[],
): Partial<AppProjectSpec> {
  return more.length === 0 ? {} : { [field]: [...listOf(spec[field]), ...more] };
}

/**
 * Kubernetes label selector (apimachinery LabelSelectorAsSelector); undefined when it is not one, as with keys and values that no label can
 * have. An empty selector matches everything.
 */
function matchesSelector(selector: JsonObject, labels: Readonly<Record<string, string>>): boolean | undefined {
  const labelOf = (key: string): string | undefined => (Object.hasOwn(labels, key) ? labels[key] : undefined);
  const matchLabels = selector['matchLabels'] ?? {};
  const expressions = selector['matchExpressions'] ?? [];
  if (!isObject(matchLabels) || !Array.isArray(expressions)) return undefined;
  const required = Object.entries(matchLabels).map(([key, value]) => ({ key, operator: 'In', values: [value ?? ''] }));
  let matches = true;
  for (const expression of [...required, ...(expressions as readonly unknown[])]) {
    if (!isObject(expression) || typeof expression['key'] !== 'string' || !isLabelKey(expression['key']))
      return undefined;
    const values = listOf(expression['values']);
    if (!values.every(isLabelValue)) return undefined;
    const verdict = requirement(expression['operator'], values, labelOf(expression['key']));
    if (verdict === undefined) return undefined;
    matches &&= verdict;
  }
  return matches;
}

const labelName = /^(?:[A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]$/;

function isLabelKey(key: string): boolean {
  const [name = '', prefix, ...more] = key.split('/').reverse();
  if (more.length > 0 || !labelName.test(name)) return false;
  if (prefix === undefined) return true;
  return prefix.length <= 253 && prefix.split('.').every((word) => /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/.test(word));
}

function isLabelValue(value: unknown): boolean {
  return value === '' || (typeof value === 'string' && labelName.test(value));
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
 * server and namespace patterns match. An empty namespace pattern matches only an empty destination namespace. An entry that cannot be
 * read is an error, wherever it stands before the one that matches: passed over, it could leave the controller its own rights.
 */
export function impersonationTarget(
  project: AppProject,
  server: string,
  destinationNamespace: string,
  appNamespace: string,
): ImpersonationTarget {
  for (const item of listOf(project.spec.destinationServiceAccounts)) {
    const texts = isObject(item) ? [item['server'], item['namespace'], item['defaultServiceAccount']].map(textOf) : [];
    const [itemServer, namespacePattern, account] = texts;
    if (itemServer === undefined || namespacePattern === undefined || account === undefined)
      return { error: 'an entry of destinationServiceAccounts is not made of texts' };
    const pattern = serverPattern(itemServer);
    const isServer = compileGlob(pattern)?.(server);
    if (isServer === undefined) return { error: `invalid glob pattern for destination server: ${pattern}` };
    const isNamespace = compileGlob(namespacePattern)?.(destinationNamespace);
    if (isNamespace === undefined)
      return { error: `invalid glob pattern for destination namespace: ${namespacePattern}` };
    if (isServer && isNamespace)
      return userFor(account, destinationNamespace === '' ? appNamespace : destinationNamespace);
  }
  return { user: '' };
}

function userFor(account: string, namespace: string): ImpersonationTarget {
  if (account.trim() === '' || /[!*[\]{}\\/]/.test(account))
    return { error: `default service account contains invalid chars '${account}'` };
  return { user: `system:serviceaccount:${account.includes(':') ? account : `${namespace}:${account}`}` };
}
