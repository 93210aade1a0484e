import type { LiveMachine, LiveOwner, LiveRow } from '#live';
import { asObject, keyOfRef, parseResourceKey } from '#model';
import type { Application, ApplicationCondition, ApplicationSummary, AppProject, ResourceKey } from '#model';
import type { ApplicationTree, HostInfo, HostResource, NodeRef, TreeNode } from '#publish';

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
  /** Labels of machines that people may see. */
  readonly nodeLabels: readonly string[];
}

/** What the cache of the cluster has of a tree, without what the project forbids and what hangs on that alone. */
export interface TreeRows {
  /** The live roots and everything below them, parents before children. */
  readonly managed: readonly LiveRow[];
  /** The orphans and everything below them. */
  readonly orphaned: readonly LiveRow[];
  /** That the managed pods run on, by name. */
  readonly machines: readonly LiveMachine[];
}

export interface BuiltTree {
  readonly tree: ApplicationTree;
  readonly summary: ApplicationSummary;
  /** Of type OrphanedResourceWarning, at most one. */
  readonly conditions: readonly ApplicationCondition[];
}

/**
 * The resource tree of an application as Argo CD's UI shows it, its summary, and the orphans of its namespace where the project
 * watches them, and the machines that its pods run on. Source: Argo CD appcontroller.go getResourceTree, getAppHosts.
 */
export function buildTree(facts: TreeFacts): BuiltTree {
  const missing = facts.roots.filter((root) => !root.live).map(missingNode);
  const { managed, orphaned, machines } = facts.rows;
  const nodes = [...missing, ...treeNodes(managed)];
  const orphanedNodes = treeNodes(orphaned);
  // Argo CD counts what hangs on an orphan, too.
  const orphans = orphanedNodes.length;
  const warn = facts.project.spec.orphanedResources?.warn === true && orphans > 0;
  return {
    tree: {
      nodes: sorted(nodes),
      orphanedNodes: sorted(orphanedNodes),
      ...(machines.length === 0 ? {} : { hosts: machines.map((machine) => hostInfo(machine, facts.nodeLabels)) }),
    },
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

function treeNodes(rows: readonly LiveRow[]): TreeNode[] {
  const parents = new Map<ResourceKey, LiveRow>();
  return rows.map((row) => {
    parents.set(row.key, row);
    return treeNode(row, parents);
  });
}

function treeNode(node: LiveRow, known: ReadonlyMap<ResourceKey, LiveRow>): TreeNode {
  return {
    ...place(node.group, node.namespace),
    version: node.version,
    kind: node.kind,
    name: node.name,
    uid: node.uid,
    ...(node.owners.length === 0 ? {} : { parentRefs: node.owners.map((owner) => parentRef(owner, node, known)) }),
    ...(node.info === undefined ? {} : { info: node.info }),
    ...(node.networkingInfo === undefined ? {} : { networkingInfo: node.networkingInfo }),
    resourceVersion: node.resourceVersion,
    ...(node.images.length === 0 ? {} : { images: node.images }),
    ...(node.health === null ? {} : { health: node.health }),
    ...(node.createdAt === '' ? {} : { createdAt: node.createdAt }),
  };
}

/** As the object names its owner, there or not. One that is not there has no namespace, because nobody knows its scope. */
function parentRef(
  { key, version, uid }: LiveOwner,
  { parents }: LiveRow,
  known: ReadonlyMap<ResourceKey, LiveRow>,
): NodeRef {
  const { group, kind, namespace, name } = parseResourceKey(key);
  const id = uid === '' ? known.get(key)?.uid : uid;
  return {
    ...place(group, parents.includes(key) ? namespace : ''),
    version,
    kind,
    name,
    ...(id === undefined ? {} : { uid: id }),
  };
}

function hostInfo({ name, system, labels, ...amounts }: LiveMachine, shown: readonly string[]): HostInfo {
  const { capacity, requestedByPods, requestedByOthers } = amounts;
  const resourcesInfo = Object.keys(capacity)
    .sort()
    .map((resourceName): HostResource => ({
      resourceName,
      requestedByApp: requestedByPods[resourceName] ?? 0,
      requestedByNeighbors: requestedByOthers[resourceName] ?? 0,
      capacity: capacity[resourceName] ?? 0,
    }));
  const allowed = shown.filter((label) => Object.hasOwn(labels, label)).map((label) => [label, labels[label] ?? '']);
  return {
    name,
    resourcesInfo,
    systemInfo: system,
    ...(allowed.length === 0 ? {} : { labels: Object.fromEntries(allowed) as Record<string, string> }),
  };
}

function summaryOf(app: Application, nodes: readonly TreeNode[]): ApplicationSummary {
  const images = [...new Set(nodes.flatMap((node) => node.images ?? []))].sort();
  const reached = nodes.flatMap((node) => node.networkingInfo?.externalURLs ?? []);
  const linked = Object.entries(asObject(app).metadata.annotations ?? {})
    .filter(([name]) => name.startsWith('link.argocd.argoproj.io/'))
    .map(([, url]) => url);
  const urls = [...reached, ...linked];
  const isAppOfApps = nodes.some((node) => node.group === 'argoproj.io' && node.kind === 'Application');
  return {
    ...(urls.length === 0 ? {} : { externalURLs: [...new Set(urls)].sort() }),
    ...(images.length === 0 ? {} : { images }),
    ...(isAppOfApps ? { isAppOfApps } : {}),
  };
}

function sorted(nodes: readonly TreeNode[]): readonly TreeNode[] {
  const keyed = nodes.map((node) => {
    const { group = '', kind, namespace = '', name } = node;
    return { node, key: keyOfRef({ group, kind, namespace, name }) };
  });
  return keyed.sort((a, b) => (a.key < b.key ? -1 : Number(a.key > b.key))).map(({ node }) => node);
}
