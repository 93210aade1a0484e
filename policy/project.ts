import { compileGlob, globMatch, isObject } from '#base';
import { serverPattern } from '#model';
import type { AppProject, Cluster, GroupKind } from '#model';
import { fileMatch } from './file-match.ts';
import { comparableUrl } from './git-url.ts';
import { matchesNamespacePattern, namespacePatternFault } from './namespace-pattern.ts';
import { listOf, textOf, textsOf } from './readable.ts';

/** Where an application goes: the resolved cluster and the namespace. An empty string is "unknown". */
export interface PermittedDestination {
  readonly server: string;
  readonly name: string;
  readonly namespace: string;
}

/**
 * May applications of `project` read from this repository? (Argo CD: AppProject.IsSourcePermitted.) Entries are globs with separator `/`
 * over normalized URLs; `!entry` denies what it matches, and allows all that it does not match, so a lone deny entry allows the rest.
 *
 * Difference: a deny entry that is no glob allows nothing; upstream it allows everything.
 */
export function isSourcePermitted(project: AppProject, url: string): boolean {
  const wanted = comparableUrl(url);
  let permitted = false;
  for (const entry of textsOf(project.spec.sourceRepos)) {
    const pattern = denies(entry) ? `!${comparableUrl(entry.slice(1))}` : comparableUrl(entry);
    const matches = matchesPattern(pattern, wanted, '/');
    if (matches === false && denies(pattern)) return false;
    permitted ||= matches === true;
  }
  return permitted;
}

/**
 * May applications of `project` deploy there? (Argo CD: AppProject.IsDestinationPermitted.) The order and the asymmetry of the deny rules
 * are upstream's: a name deny fires whatever the namespace, a server deny only with the namespace, a namespace deny only with the server.
 *
 * Differences: a deny pattern that is no glob allows nothing; upstream it allows everything. User and password in a server pattern do not count, as
 * in the names of clusters.
 *
 * @param scopedClusters the clusters whose Secret names this project; needed when the project permits only those.
 */
export function isDestinationPermitted(
  project: AppProject,
  destination: PermittedDestination,
  scopedClusters: readonly Pick<Cluster, 'server' | 'name'>[] = [],
): boolean {
  let permitted = false;
  for (const item of listOf(project.spec.destinations)) {
    const verdict = judgeDestination(item, destination);
    if (verdict === 'denied') return false;
    permitted ||= verdict === 'permitted';
  }
  // Only "no" opens this: what cannot be read must not.
  if (!permitted || [undefined, null, false].includes(project.spec.permitOnlyProjectScopedClusters)) return permitted;
  return scopedClusters.some(({ server, name }) => name === destination.name || server === destination.server);
}

type Verdict = 'permitted' | 'denied' | 'silent';

function judgeDestination(item: unknown, destination: PermittedDestination): Verdict {
  if (!isObject(item)) return 'silent';
  const texts = [item['name'], item['server'], item['namespace']].map(textOf);
  if (texts.includes(undefined)) return texts.some((text) => text !== undefined && denies(text)) ? 'denied' : 'silent';
  const [itemName, itemServer, itemNamespace] = texts as [string, string, string];
  return judgePatterns(itemName, itemServer, itemNamespace, destination);
}

function judgePatterns(
  itemName: string,
  itemServer: string,
  itemNamespace: string,
  destination: PermittedDestination,
): Verdict {
  // An unknown name or server matches no pattern, not even a deny pattern.
  const name = destination.name === '' ? false : matchesPattern(itemName, destination.name);
  const server = destination.server === '' ? false : matchesPattern(serverPattern(itemServer), destination.server);
  const namespace = matchesPattern(itemNamespace, destination.namespace);
  if ((server === true || name === true) && namespace === true) return 'permitted';
  if (name === false && denies(itemName)) return 'denied';
  const byServer = server === false && namespace === true && denies(itemServer);
  const byNamespace = namespace === false && server === true && denies(itemNamespace);
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
    const open = [undefined, null].includes(spec.namespaceResourceWhitelist as undefined);
    if (!open && !isListed(spec.namespaceResourceWhitelist, gk, false)) return false;
    return !isListed(spec.namespaceResourceBlacklist, gk, true);
  }
  return isListed(spec.clusterResourceWhitelist, gk, false) && !isListed(spec.clusterResourceBlacklist, gk, true);
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
  return textsOf(project.spec.sourceNamespaces).some((pattern) => matchesNamespacePattern(pattern, appNamespace));
}

/**
 * What to tell when {@link isAppNamespacePermitted} says no: Argo CD's words, and after them which entries of the project are not used
 * because they cannot be.
 */
export function appNamespaceDenied(appName: string, appNamespace: string, project: AppProject): string {
  const name = project.metadata.name ?? '';
  const faults = textsOf(project.spec.sourceNamespaces).flatMap((pattern) => {
    const fault = namespacePatternFault(pattern);
    return fault === undefined ? [] : [`its sourceNamespaces entry ${pattern} matches nothing: ${fault}`];
  });
  const also = faults.length === 0 ? '' : ` (${faults.join('; ')})`;
  return `application '${appName}' in namespace '${appNamespace}' is not permitted to use project '${name}'${also}`;
}

/** Is this orphan one that the project does not want to hear of? Always excluded: what every namespace has. */
export function isOrphanIgnored(project: AppProject, ref: GroupKind & { namespace: string; name: string }): boolean {
  if (ref.group === '' && ref.kind === 'Service' && ref.namespace === 'default' && ref.name === 'kubernetes')
    return true;
  if (ref.group === '' && ref.kind === 'ServiceAccount' && ref.name === 'default') return true;
  if (ref.group === '' && ref.kind === 'ConfigMap' && ref.name === 'kube-root-ca.crt') return true;
  const ignore = isObject(project.spec.orphanedResources) ? project.spec.orphanedResources.ignore : undefined;
  return listOf(ignore).some((item) => {
    const [kind, group, name] = isObject(item) ? [item['kind'], item['group'], item['name']].map(textOf) : [];
    if (kind === undefined || group === undefined || name === undefined) return false;
    return isAnyOr(kind, ref.kind) && globMatch(group, ref.group) && isAnyOr(name, ref.name);
  });
}

function isAnyOr(pattern: string, text: string): boolean {
  return pattern === '' || globMatch(pattern, text);
}

/** `*` is anything; `!pattern` is everything but the pattern; else a glob. Undefined: a deny pattern that is no glob. */
function matchesPattern(pattern: string, value: string, separators = ''): boolean | undefined {
  if (!denies(pattern)) return pattern === '*' || globMatch(pattern, value, separators);
  const glob = compileGlob(pattern.slice(1), separators);
  return glob === undefined ? undefined : !glob(value);
}

function denies(pattern: string): boolean {
  return pattern.startsWith('!');
}

/** @param unreadable what an entry counts for that cannot be read: it must match where it denies, and must not where it allows. */
function isListed(items: unknown, gk: GroupKind & { readonly name?: string }, unreadable: boolean): boolean {
  return listOf(items).some((item) => {
    const [group, kind, name] = isObject(item) ? [item['group'], item['kind'], item['name']].map(textOf) : [];
    if (group === undefined || kind === undefined || name === undefined) return unreadable;
    return fileMatch(kind, gk.kind) && fileMatch(group, gk.group) && (name === '' || fileMatch(name, gk.name ?? ''));
  });
}
