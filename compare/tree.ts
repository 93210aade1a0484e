import type { TreeRow } from '#live';
import { asObject, keyOfRef, parseResourceKey } from '#model';
import type { Application, ApplicationCondition, ApplicationSummary, AppProject, ResourceKey } from '#model';
import type { ApplicationTree, TreeNode } from '#publish';

/** A managed resource, as much of it as the tree needs: remembered from one comparison to the next. */
export interface TreeRoot {
  readonly key: ResourceKey;
  readonly version: string;
  readonly live: boolean;
}

export interface TreeFacts {
  readonly app: Application;
  readonly project: AppProject;
  readonly roots: readonly TreeRoot[];
  readonly rows: TreeRows;
}

/** What the cache of the cluster has of a tree, without what the project forbids and what hangs on that alone. */
export interface TreeRows {
  /** The live roots and everything below them, parents before children. */
  readonly managed: readonly TreeRow[];
  /** How many orphans the namespace has. */
  readonly orphans: number;
  /** The orphans and everything below them. */
  readonly orphaned: readonly TreeRow[];
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
  const { managed, orphans, orphaned } = facts.rows;
  const nodes = [...missing, ...treeNodes(managed)];
  const orphanedNodes = treeNodes(orphaned);
  const warn = facts.project.spec.orphanedResources?.warn === true && orphans > 0;
  return {
    tree: { nodes: sorted(nodes), orphanedNodes: sorted(orphanedNodes) },
    summary: summaryOf(facts.app, nodes),
    conditions: warn
      ? [{ type: 'OrphanedResourceWarning', message: `Application has ${orphans} orphaned resources` }]
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

function treeNodes(rows: readonly TreeRow[]): TreeNode[] {
  const uids = new Map<ResourceKey, string>();
  return rows.map((row) => {
    uids.set(row.key, row.uid);
    return treeNode(row, uids);
  });
}

function treeNode({ parents, ...node }: TreeRow, uids: ReadonlyMap<ResourceKey, string>): TreeNode {
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
