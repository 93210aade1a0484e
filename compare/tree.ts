import type { LiveNode } from '#live';
import { asObject, destinationNamespaceOf, keyOfRef, parseResourceKey } from '#model';
import type {
  Application,
  ApplicationCondition,
  ApplicationSummary,
  AppProject,
  ResourceKey,
  ResourceRef,
} from '#model';
import { isOrphanIgnored } from '#policy';
import type { ApplicationTree, TreeNode } from '#publish';

/** A managed resource, as much of it as the tree needs: remembered from one comparison to the next. */
export interface TreeRoot {
  readonly key: ResourceKey;
  readonly version: string;
  readonly live: boolean;
}

/** What the tree asks a cluster for: `LiveCluster` answers it. */
export interface LiveNodes {
  walk(roots: Iterable<ResourceKey>, visit: (node: LiveNode, parents: readonly ResourceKey[]) => boolean): void;
  topLevel(namespace: string): readonly LiveNode[];
}

export interface TreeFacts {
  readonly app: Application;
  readonly project: AppProject;
  readonly roots: readonly TreeRoot[];
  readonly cluster: LiveNodes;
  /** By the project; what it forbids is left out with its whole subtree. */
  readonly permitted: (ref: ResourceRef) => boolean;
}

export interface BuiltTree {
  readonly tree: ApplicationTree;
  readonly summary: ApplicationSummary;
  /** Of type OrphanedResourceWarning, at most one. */
  readonly conditions: readonly ApplicationCondition[];
}

/**
 * The resource tree of an application as Argo CD's UI shows it, its summary, and the orphans of its namespace where the project
 * watches them. Source: Argo CD appcontroller.go getResourceTree. Not yet there: hosts, and URLs from Services and Ingresses.
 */
export function buildTree(facts: TreeFacts): BuiltTree {
  const missing = facts.roots.filter((root) => !root.live).map(missingNode);
  const nodes = [
    ...missing,
    ...walk(
      facts,
      facts.roots.filter((root) => root.live).map((root) => root.key),
    ),
  ];
  const orphans = orphanRoots(facts);
  const orphanedNodes = walk(facts, orphans);
  const warn = facts.project.spec.orphanedResources?.warn === true && orphans.length > 0;
  return {
    tree: { nodes: sorted(nodes), orphanedNodes: sorted(orphanedNodes) },
    summary: summaryOf(facts.app, nodes),
    conditions: warn
      ? [{ type: 'OrphanedResourceWarning', message: `Application has ${orphans.length} orphaned resources` }]
      : [],
  };
}

function missingNode({ key, version }: TreeRoot): TreeNode {
  const { group, kind, namespace, name } = parseResourceKey(key);
  return { ...place(group, namespace), version, kind, name, health: { status: 'Missing' } };
}

function place(group: string, namespace: string): Pick<TreeNode, 'group' | 'namespace'> {
  return { ...(group === '' ? {} : { group }), ...(namespace === '' ? {} : { namespace }) };
}

function walk(facts: TreeFacts, roots: readonly ResourceKey[]): TreeNode[] {
  const nodes: TreeNode[] = [];
  const uids = new Map<ResourceKey, string>();
  facts.cluster.walk(roots, (node, parents) => {
    if (!facts.permitted(node)) return false;
    uids.set(node.key, node.uid);
    nodes.push(treeNode(node, parents, uids));
    return true;
  });
  return nodes;
}

function treeNode(node: LiveNode, parents: readonly ResourceKey[], uids: ReadonlyMap<ResourceKey, string>): TreeNode {
  return {
    ...place(node.group, node.namespace),
    version: node.version,
    kind: node.kind,
    name: node.name,
    uid: node.uid,
    ...(parents.length === 0 ? {} : { parentRefs: parents.map((key) => parentRef(key, uids.get(key))) }),
    resourceVersion: node.resourceVersion,
    ...(node.images.length === 0 ? {} : { images: node.images }),
    ...(node.health === null ? {} : { health: node.health }),
    ...(node.createdAt === '' ? {} : { createdAt: node.createdAt }),
  };
}

function parentRef(key: ResourceKey, uid: string | undefined): NonNullable<TreeNode['parentRefs']>[number] {
  const { group, kind, namespace, name } = parseResourceKey(key);
  return { ...place(group, namespace), kind, name, ...(uid === undefined ? {} : { uid }) };
}

function orphanRoots(facts: TreeFacts): readonly ResourceKey[] {
  const rules = facts.project.spec.orphanedResources;
  const namespace = destinationNamespaceOf(facts.app);
  if (rules === undefined || namespace === '') return [];
  const managed = new Set(facts.roots.map((root) => root.key));
  return facts.cluster
    .topLevel(namespace)
    .filter((node) => node.app === undefined && !managed.has(node.key) && facts.permitted(node))
    .filter((node) => !isOrphanIgnored(facts.project, node))
    .map((node) => node.key);
}

function summaryOf(app: Application, nodes: readonly TreeNode[]): ApplicationSummary {
  const images = [...new Set(nodes.flatMap((node) => node.images ?? []))].sort();
  const urls = Object.entries(asObject(app).metadata.annotations ?? {})
    .filter(([name]) => name.startsWith('link.argocd.argoproj.io/'))
    .map(([, url]) => url);
  const isAppOfApps = nodes.some((node) => node.group === 'argoproj.io' && node.kind === 'Application');
  return {
    ...(urls.length === 0 ? {} : { externalURLs: [...new Set(urls)].sort() }),
    ...(images.length === 0 ? {} : { images }),
    ...(isAppOfApps ? { isAppOfApps } : {}),
  };
}

function sorted(nodes: readonly TreeNode[]): readonly TreeNode[] {
  const key = (node: TreeNode): string =>
    keyOfRef({ group: node.group ?? '', kind: node.kind, namespace: node.namespace ?? '', name: node.name });
  return [...nodes].sort((a, b) => (key(a) < key(b) ? -1 : Number(key(a) > key(b))));
}
