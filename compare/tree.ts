import type { LiveMachine, LiveRow } from '#live';
import { asObject } from '#model';
import type { Application, ApplicationCondition, ApplicationSummary, AppProject } from '#model';
import type { ApplicationTree, HostInfo, HostResource, TreeNode } from '#publish';
import { growTree } from './grown-tree.ts';
import type { GrownTree, TreeRoot } from './grown-tree.ts';

export interface TreeFacts {
  readonly app: Application;
  readonly project: AppProject;
  readonly roots: readonly TreeRoot[];
  readonly rows: TreeRows;
  /** Node labels that users may see. */
  readonly nodeLabels: readonly string[];
}

/** The cached objects of a tree, without those that the project forbids and their children. */
export interface TreeRows {
  /** The live roots and everything below them; as rows, or as a tree built already. */
  readonly managed: readonly LiveRow[] | GrownTree;
  /** The orphans and everything below them. */
  readonly orphaned: readonly LiveRow[];
  /** The nodes that the managed pods run on. */
  readonly machines: readonly LiveMachine[];
}

export interface BuiltTree {
  readonly tree: ApplicationTree;
  readonly summary: ApplicationSummary;
  /** At most one, of type OrphanedResourceWarning. */
  readonly conditions: readonly ApplicationCondition[];
}

/**
 * The resource tree of an Application as Argo CD's UI shows it, with its summary, the orphans of
 * its namespace if the project watches them, and the nodes that its pods run on. Source: Argo CD
 * appcontroller.go getResourceTree, getAppHosts.
 */
export function buildTree(facts: TreeFacts): BuiltTree {
  const { managed, orphaned, machines } = facts.rows;
  const nodes = nodesOf('isPlain' in managed ? managed : growTree(facts.roots, managed));
  const orphanedNodes = nodesOf(growTree([], orphaned));
  // Like Argo CD, count the children of an orphan too.
  const orphans = orphanedNodes.length;
  const warn = facts.project.spec.orphanedResources?.warn === true && orphans > 0;
  return {
    tree: {
      nodes,
      orphanedNodes,
      ...(machines.length === 0 ? {} : { hosts: machines.map((machine) => hostInfo(machine, facts.nodeLabels)) }),
    },
    summary: summaryOf(facts.app, nodes),
    conditions: warn
      ? [{ type: 'OrphanedResourceWarning', message: `Application has ${orphans} orphaned resources` }]
      : [],
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

function nodesOf({ entries }: GrownTree): readonly TreeNode[] {
  return entries.map(({ node }) => node);
}

function summaryOf(app: Application, nodes: readonly TreeNode[]): ApplicationSummary {
  const [used, reached] = [new Set<string>(), new Set<string>()];
  let isAppOfApps = false;
  for (const { group, kind, images, networkingInfo } of nodes) {
    if (images !== undefined) for (const image of images) used.add(image);
    if (networkingInfo?.externalURLs !== undefined) for (const url of networkingInfo.externalURLs) reached.add(url);
    isAppOfApps ||= kind === 'Application' && group === 'argoproj.io';
  }
  const images = [...used].sort();
  const linked = Object.entries(asObject(app).metadata.annotations ?? {})
    .filter(([name]) => name.startsWith('link.argocd.argoproj.io/'))
    .map(([, url]) => url);
  const urls = [...reached, ...linked];
  return {
    ...(urls.length === 0 ? {} : { externalURLs: [...new Set(urls)].sort() }),
    ...(images.length === 0 ? {} : { images }),
    ...(isAppOfApps ? { isAppOfApps } : {}),
  };
}
