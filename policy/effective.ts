import { compileGlob, isObject } from '#base';
import type { JsonObject } from '#base';
import { isLabelKey, isLabelValue, serverPattern } from '#model';
import type { AppProject, AppProjectSpec, Cluster, ProjectDestination, Repository, Settings } from '#model';
import { entriesOrUnreadable, stringOrUndefined } from './readable.ts';

/** Inputs of an effective project besides the AppProject. */
export interface ProjectSources {
  readonly globalProjects: Settings['globalProjects'];
  /** Looks up an AppProject in the controller's namespace; undefined if it does not exist. */
  readonly lookup: (name: string) => AppProject | undefined;
  readonly repositories: readonly Pick<Repository, 'url' | 'project'>[];
  readonly clusters: readonly Pick<Cluster, 'server' | 'namespaces' | 'project'>[];
}

/**
 * Returns the project as it is enforced (Argo CD: GetAppProjectByName): permits repositories and
 * clusters whose Secrets name it, and appends the lists of every matching global project. With a
 * {@link globalProjectFault} it is incomplete, and must not be used.
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
  for (const { global } of matchingGlobals(project, sources)) spec = inherit(spec, global?.spec ?? {});
  return { ...project, spec };
}

/**
 * Why it is unknown what global projects deny: a selector is invalid, or a matching project does
 * not exist. Undefined: it is known. Upstream the search ends there, and nothing more is denied.
 */
export function globalProjectFault(project: AppProject, sources: GlobalProjectSources): string | undefined {
  for (const { projectName, global, isInvalid } of matchingGlobals(project, sources)) {
    if (isInvalid) return `the labelSelector of "${projectName}" in globalProjects of argocd-cm is invalid`;
    if (global === undefined)
      return `the AppProject "${projectName}", named by globalProjects of argocd-cm, does not exist`;
  }
  return undefined;
}

type GlobalProjectSources = Pick<ProjectSources, 'globalProjects' | 'lookup'>;

/** Global projects that the project inherits from, and those of which it is unknown. */
function matchingGlobals(project: AppProject, { globalProjects, lookup }: GlobalProjectSources) {
  return globalProjects.flatMap(({ projectName, labelSelector }) => {
    if (projectName === project.metadata.name) return [];
    const matches = matchesSelector(labelSelector, project.metadata.labels ?? {});
    const isInvalid = matches === undefined;
    return matches === false ? [] : [{ projectName, isInvalid, global: isInvalid ? undefined : lookup(projectName) }];
  });
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
  for (const field of inherited) result = { ...result, ...appended(field, result, entriesOrUnreadable(global[field])) };
  return result;
}

/**
 * Keeps an absent list absent if nothing is appended: absent and empty differ for
 * `namespaceResourceWhitelist`.
 */
function appended(
  field: (typeof inherited)[number],
  spec: AppProjectSpec,
  more: readonly unknown[],
): Partial<AppProjectSpec> {
  return more.length === 0 ? {} : { [field]: [...entriesOrUnreadable(spec[field]), ...more] };
}

/**
 * Evaluates a Kubernetes label selector (apimachinery LabelSelectorAsSelector); undefined if it is
 * invalid, including impossible label keys and values. An empty selector matches everything.
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
    const values = entriesOrUnreadable(expression['values']);
    if (!values.every(isLabelValue)) return undefined;
    const verdict = requirement(expression['operator'], values, labelOf(expression['key']));
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

/** The user to impersonate, "" if no entry matches, or why the matching entry is invalid. */
export type ImpersonationTarget = { readonly user: string } | { readonly error: string };

/**
 * Resolves the user for the destination cluster (Argo CD: util/settings/impersonation.go): the
 * first entry of `destinationServiceAccounts` whose server and namespace patterns match. An empty
 * namespace pattern matches only an empty namespace. An invalid entry before the matching one is an
 * error: skipping it could leave the controller its own permissions.
 */
export function impersonationTarget(
  project: AppProject,
  server: string,
  destinationNamespace: string,
  appNamespace: string,
): ImpersonationTarget {
  for (const item of entriesOrUnreadable(project.spec.destinationServiceAccounts)) {
    const texts = isObject(item)
      ? [item['server'], item['namespace'], item['defaultServiceAccount']].map(stringOrUndefined)
      : [];
    const [itemServer, namespacePattern, account] = texts;
    if (itemServer === undefined || namespacePattern === undefined || account === undefined)
      return { error: 'an entry of destinationServiceAccounts has a member that is not a string' };
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
