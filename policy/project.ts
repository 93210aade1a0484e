import { compileGlob, globMatch } from '#base';
import type { AppProject, Cluster, GroupKind, ProjectDestination, ProjectGroupKind } from '#model';
import { fileMatch } from './file-match.ts';
import { comparableUrl } from './git-url.ts';

/** Where an application goes: the resolved cluster and the namespace. An empty string is "unknown". */
export interface PermittedDestination {
  readonly server: string;
  readonly name: string;
  readonly namespace: string;
}

/**
 * May applications of `project` read from this repository? (Argo CD: AppProject.IsSourcePermitted.) Entries are globs with separator `/`
 * over normalised URLs; `!entry` denies what it matches, and allows all that it does not match, so a lone deny entry allows the rest.
 */
export function isSourcePermitted(project: AppProject, url: string): boolean {
  const wanted = comparableUrl(url);
  let permitted = false;
  for (const entry of project.spec.sourceRepos ?? []) {
    const denies = entry.startsWith('!');
    const pattern = comparableUrl(denies ? entry.slice(1) : entry);
    const matches = matchesPattern(denies ? `!${pattern}` : pattern, wanted, '/');
    if (denies && !matches) return false;
    permitted ||= matches;
  }
  return permitted;
}

/**
 * May applications of `project` deploy there? (Argo CD: AppProject.IsDestinationPermitted.) The order and the asymmetry of the deny rules
 * are upstream's: a name deny fires whatever the namespace, a server deny only with the namespace, a namespace deny only with the server.
 *
 * @param scopedClusters the clusters whose Secret names this project; needed when the project permits only those.
 */
export function isDestinationPermitted(
  project: AppProject,
  destination: PermittedDestination,
  scopedClusters: readonly Pick<Cluster, 'server' | 'name'>[] = [],
): boolean {
  let permitted = false;
  for (const item of project.spec.destinations ?? []) {
    const verdict = judgeDestination(item, destination);
    if (verdict === 'denied') return false;
    permitted ||= verdict === 'permitted';
  }
  if (!permitted || project.spec.permitOnlyProjectScopedClusters !== true) return permitted;
  return scopedClusters.some(({ server, name }) => name === destination.name || server === destination.server);
}

function judgeDestination(
  item: ProjectDestination,
  destination: PermittedDestination,
): 'permitted' | 'denied' | 'silent' {
  const [itemName, itemServer, itemNamespace] = [item.name, item.server, item.namespace].map((text) => text ?? '') as [
    string,
    string,
    string,
  ];
  const name = destination.name !== '' && matchesPattern(itemName, destination.name);
  const server = destination.server !== '' && matchesPattern(itemServer, destination.server);
  const namespace = matchesPattern(itemNamespace, destination.namespace);
  if ((server || name) && namespace) return 'permitted';
  if (!name && denies(itemName)) return 'denied';
  const byServer = !server && namespace && denies(itemServer);
  const byNamespace = !namespace && server && denies(itemNamespace);
  return byServer || byNamespace ? 'denied' : 'silent';
}

/**
 * May applications of `project` hold this kind? (Argo CD: AppProject.IsGroupKindNamePermitted.) For namespaced kinds an absent allow list
 * allows everything and an empty one nothing; for cluster-scoped kinds both allow nothing.
 */
export function isGroupKindPermitted(
  project: AppProject,
  gk: GroupKind & { readonly name?: string },
  namespaced: boolean,
): boolean {
  const spec = project.spec;
  if (namespaced) {
    const allowed = spec.namespaceResourceWhitelist ?? undefined;
    if (allowed !== undefined && !listed(allowed, gk)) return false;
    return !listed(spec.namespaceResourceBlacklist ?? [], gk);
  }
  return listed(spec.clusterResourceWhitelist ?? [], gk) && !listed(spec.clusterResourceBlacklist ?? [], gk);
}

/** May applications of `project` hold this object? An object with a namespace must also be in a permitted destination. */
// eslint-disable-next-line max-params -- the signature is agreed between modules
export function isResourcePermitted(
  project: AppProject,
  gk: GroupKind,
  name: string,
  namespace: string,
  cluster: { readonly server: string; readonly name: string },
  scopedClusters: readonly Pick<Cluster, 'server' | 'name'>[] = [],
): boolean {
  const namespaced = namespace !== '';
  if (!isGroupKindPermitted(project, { ...gk, name }, namespaced)) return false;
  return !namespaced || isDestinationPermitted(project, { ...cluster, namespace }, scopedClusters);
}

/** May an Application in this namespace use the project? (Argo CD: AppProject.IsAppNamespacePermitted.) */
export function isAppNamespacePermitted(
  appNamespace: string,
  project: AppProject,
  controllerNamespace: string,
): boolean {
  if (appNamespace === '' || appNamespace === controllerNamespace) return true;
  return (project.spec.sourceNamespaces ?? []).some((pattern) => matchesNamespacePattern(pattern, appNamespace));
}

/** What to tell when {@link isAppNamespacePermitted} says no. */
export function appNamespaceDenied(appName: string, appNamespace: string, project: string): string {
  return `application '${appName}' in namespace '${appNamespace}' is not permitted to use project '${project}'`;
}

/** Is this orphan one that the project does not want to hear of? Always excluded: what every namespace has. */
export function isOrphanIgnored(project: AppProject, ref: GroupKind & { namespace: string; name: string }): boolean {
  if (ref.group === '' && ref.kind === 'Service' && ref.namespace === 'default' && ref.name === 'kubernetes')
    return true;
  if (ref.group === '' && ref.kind === 'ServiceAccount' && ref.name === 'default') return true;
  if (ref.group === '' && ref.kind === 'ConfigMap' && ref.name === 'kube-root-ca.crt') return true;
  return (project.spec.orphanedResources?.ignore ?? []).some(
    (item) =>
      ((item.kind ?? '') === '' || globMatch(item.kind ?? '', ref.kind)) &&
      globMatch(item.group ?? '', ref.group) &&
      ((item.name ?? '') === '' || globMatch(item.name ?? '', ref.name)),
  );
}

const maxRegexLength = 256;

/**
 * A namespace pattern of `sourceNamespaces` and of the list of application namespaces: a glob, or a regular expression between slashes
 * that may match anywhere (Argo CD: util/security, util/glob MatchStringInList with regexps).
 *
 * A regular expression that could take exponential time (a repeated group that repeats or branches inside), or longer than 256
 * characters, matches nothing: a project must not be able to stop the controller. Namespaces have at most 63 characters, which bounds
 * the rest. Upstream allows a second per match instead.
 */
export function matchesNamespacePattern(pattern: string, namespace: string): boolean {
  if (pattern.length > 2 && pattern.startsWith('/') && pattern.endsWith('/')) {
    const regex = namespaceRegex(pattern.slice(1, -1));
    if (regex?.test(namespace) === true) return true;
  }
  return globMatch(pattern, namespace);
}

function namespaceRegex(source: string): RegExp | undefined {
  const flags = source.startsWith('(?i)') ? 'i' : '';
  const body = flags === '' ? source : source.slice(4);
  if (body.length > maxRegexLength || repeatsBadly(body)) return undefined;
  try {
    return new RegExp(body, flags);
  } catch {
    return undefined;
  }
}

/** A group with an open-ended quantifier after it must hold neither a quantifier nor an alternative; stars outside groups are few. */
function repeatsBadly(source: string): boolean {
  const bare = source.replace(/\\./gs, 'x').replace(/\[\^?\]?[^\]]*\]/g, 'x');
  let text = bare;
  for (;;) {
    const inner = /\((?:\?(?:[:=!]|<[=!]|<[A-Za-z]\w*>))?([^()]*)\)([*+]|\{[0-9]+,[0-9]*\}|\{[0-9]{2,}\})?/.exec(text);
    if (inner === null) break;
    const [whole, body = '', quantifier] = inner;
    if (quantifier !== undefined && /[*+?|{]/.test(body)) return true;
    const rest = /[*+{|]/.test(body) || quantifier !== undefined ? 'x*' : 'x';
    text = text.slice(0, inner.index) + rest + text.slice(inner.index + whole.length);
  }
  return (bare.match(/[*+]|\{[0-9]+,/g) ?? []).length > 4;
}

/** `*` is anything; `!pattern` is everything but the pattern; else a glob. */
function matchesPattern(pattern: string, value: string, separators = ''): boolean {
  if (denies(pattern)) return compileGlob(pattern.slice(1), separators)?.(value) !== true;
  return pattern === '*' || globMatch(pattern, value, separators);
}

function denies(pattern: string): boolean {
  return pattern.startsWith('!');
}

function listed(items: readonly ProjectGroupKind[], gk: GroupKind & { readonly name?: string }): boolean {
  return items.some(
    (item) =>
      fileMatch(item.kind, gk.kind) &&
      fileMatch(item.group, gk.group) &&
      ((item.name ?? '') === '' || fileMatch(item.name ?? '', gk.name ?? '')),
  );
}
