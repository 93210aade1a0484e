import { compileGlob, globMatch, isObject } from '#base';
import { serverPattern } from '#model';
import type { AppProject, Cluster, GroupKind } from '#model';
import { fileMatch, isFilePattern } from './file-match.ts';
import { matchesNamespacePattern, namespacePatternFault } from './namespace-pattern.ts';
import { entriesOrUnreadable, isAbsent, stringOrUndefined, stringEntries } from './readable.ts';

/** The resolved cluster and namespace of an Application. An empty string means unknown. */
export interface PermittedDestination {
  readonly server: string;
  readonly name: string;
  readonly namespace: string;
}

/**
 * Reports whether Applications of the project may deploy there (Argo CD:
 * AppProject.IsDestinationPermitted). Order and asymmetry of deny rules are upstream's: a name deny
 * applies to every namespace, a server deny only with the namespace, a namespace deny only with the
 * server. Differences: an invalid deny pattern denies everything (upstream: allows it); user and
 * password in a server pattern are ignored, as in the names of clusters.
 * @param scopedClusters the clusters whose Secret names this project; needed when the project
 * permits only those.
 */
export function isDestinationPermitted(
  project: AppProject,
  destination: PermittedDestination,
  scopedClusters: readonly Pick<Cluster, 'server' | 'name'>[] = [],
): boolean {
  let permitted = false;
  for (const item of entriesOrUnreadable(project.spec.destinations)) {
    const verdict = judgeDestination(item, destination);
    if (verdict === 'denied') return false;
    permitted ||= verdict === 'permitted';
  }
  // Only an explicit "no" opens this: an unreadable value must not.
  if (!permitted || [undefined, null, false].includes(project.spec.permitOnlyProjectScopedClusters)) return permitted;
  return scopedClusters.some(({ server, name }) => name === destination.name || server === destination.server);
}

type DestinationVerdict = 'permitted' | 'denied' | 'silent';

function judgeDestination(item: unknown, destination: PermittedDestination): DestinationVerdict {
  if (item === null) return 'silent';
  const texts = isObject(item) ? [item['name'], item['server'], item['namespace']].map(stringOrUndefined) : [undefined];
  // It may have been a deny entry.
  if (texts.includes(undefined)) return 'denied';
  const [itemName, itemServer, itemNamespace] = texts as [string, string, string];
  return judgePatterns(itemName, itemServer, itemNamespace, destination);
}

function judgePatterns(
  itemName: string,
  itemServer: string,
  itemNamespace: string,
  destination: PermittedDestination,
): DestinationVerdict {
  const patterns = [itemName, serverPattern(itemServer), itemNamespace];
  if (patterns.some(denies) && !patterns.every(isGlob)) return 'denied';
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
 * Reports whether Applications of the project may contain this kind (Argo CD:
 * AppProject.IsGroupKindNamePermitted). An absent allow list allows all namespaced kinds and no
 * cluster-scoped ones; an empty one allows nothing. Difference: an invalid pattern in a deny list
 * denies everything; upstream nothing.
 */
export function isGroupKindPermitted(
  project: AppProject,
  gk: GroupKind & { readonly name?: string },
  namespaced: boolean,
): boolean {
  const { name = '' } = gk;
  const { clusterResourceWhitelist, clusterResourceBlacklist } = project.spec;
  if (!namespaced)
    return isListed(clusterResourceWhitelist, gk, name, false) && !isListed(clusterResourceBlacklist, gk, name, true);
  const { namespaceResourceWhitelist, namespaceResourceBlacklist } = project.spec;
  if (!isAbsent(namespaceResourceWhitelist) && !isListed(namespaceResourceWhitelist, gk, name, false)) return false;
  return !isListed(namespaceResourceBlacklist, gk, anyName, true);
}

/** Entries for namespaced kinds have no name in the schema: one with a name denies every name. */
const anyName = Symbol('any name');

/**
 * Reports whether an Application in this namespace may use the project (Argo CD:
 * AppProject.IsAppNamespacePermitted).
 */
export function isAppNamespacePermitted(
  appNamespace: string,
  project: AppProject,
  controllerNamespace: string,
): boolean {
  if (appNamespace === '' || appNamespace === controllerNamespace) return true;
  return stringEntries(project.spec.sourceNamespaces).some((pattern) => matchesNamespacePattern(pattern, appNamespace));
}

/**
 * Message when {@link isAppNamespacePermitted} is false: Argo CD's words, then the invalid entries
 * of the project.
 */
export function appNamespaceDenied(appName: string, appNamespace: string, project: AppProject): string {
  const name = project.metadata.name ?? '';
  const faults = stringEntries(project.spec.sourceNamespaces).flatMap((pattern) => {
    const fault = namespacePatternFault(pattern);
    return fault === undefined ? [] : [`its sourceNamespaces entry ${pattern} matches nothing: ${fault}`];
  });
  const also = faults.length === 0 ? '' : ` (${faults.join('; ')})`;
  return `application '${appName}' in namespace '${appNamespace}' is not permitted to use project '${name}'${also}`;
}

/**
 * Reports whether the project ignores this orphan. Objects that exist in every namespace always
 * are.
 */
export function isOrphanIgnored(project: AppProject, ref: GroupKind & { namespace: string; name: string }): boolean {
  if (ref.group === '' && ref.kind === 'Service' && ref.namespace === 'default' && ref.name === 'kubernetes')
    return true;
  if (ref.group === '' && ref.kind === 'ServiceAccount' && ref.name === 'default') return true;
  if (ref.group === '' && ref.kind === 'ConfigMap' && ref.name === 'kube-root-ca.crt') return true;
  const ignore = isObject(project.spec.orphanedResources) ? project.spec.orphanedResources.ignore : undefined;
  return entriesOrUnreadable(ignore).some((item) => {
    const [kind, group, name] = isObject(item)
      ? [item['kind'], item['group'], item['name']].map(stringOrUndefined)
      : [];
    if (kind === undefined || group === undefined || name === undefined) return false;
    return isAnyOr(kind, ref.kind) && globMatch(group, ref.group) && isAnyOr(name, ref.name);
  });
}

function isAnyOr(pattern: string, text: string): boolean {
  return pattern === '' || globMatch(pattern, text);
}

/**
 * `*` matches anything; `!pattern` everything but the pattern; otherwise a glob. Undefined: an
 * invalid deny pattern.
 */
function matchesPattern(pattern: string, value: string): boolean | undefined {
  if (!denies(pattern)) return pattern === '*' || globMatch(pattern, value);
  const glob = compileGlob(pattern.slice(1));
  return glob === undefined ? undefined : !glob(value);
}

function isGlob(pattern: string): boolean {
  return compileGlob(denies(pattern) ? pattern.slice(1) : pattern) !== undefined;
}

function denies(pattern: string): boolean {
  return pattern.startsWith('!');
}

/**
 * @param unreadable the result for an invalid entry: true in a deny list, false in an allow list.
 */
function isListed(items: unknown, gk: GroupKind, named: string | typeof anyName, unreadable: boolean): boolean {
  if (items === undefined) return false;
  return entriesOrUnreadable(items).some((item) => {
    const [group, kind, name] = isObject(item)
      ? [item['group'], item['kind'], item['name']].map(stringOrUndefined)
      : [];
    if (group === undefined || kind === undefined || name === undefined) return unreadable;
    if (![group, kind, name].every(isFilePattern)) return unreadable;
    const isNamed = name === '' || named === anyName || fileMatch(name, named);
    return isNamed && fileMatch(kind, gk.kind) && fileMatch(group, gk.group);
  });
}
