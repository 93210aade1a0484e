import type { TreeRoot, TreeRows } from '#compare';
import type { LiveCluster, LiveRow } from '#live';
import { destinationNamespaceOf } from '#model';
import type { Application, AppProject, ResourceKey, ResourceRef } from '#model';
import { isOrphanIgnored } from '#policy';

export interface TreeRowsQuery {
  readonly app: Application;
  readonly project: AppProject;
  readonly roots: readonly TreeRoot[];
  readonly cluster: Pick<LiveCluster, 'tree' | 'topLevel' | 'machines'>;
  /** By the project; what it forbids is left out with its whole subtree. */
  readonly permitted: (ref: ResourceRef) => boolean;
  /** Is there an Application of this instance name? What a former one left behind is an orphan. */
  readonly isApplication: (instance: string) => boolean;
}

/** Reads what the tree of an application is made of, and the orphans of its namespace where the project watches them. */
export async function readTree(query: TreeRowsQuery, signal: AbortSignal): Promise<ReadTree> {
  const live = query.roots.filter((root) => root.live).map((root) => root.key);
  const { rows: managed, isWhole } = await permittedRows(query, live, signal);
  const orphans = await orphanRoots(query, signal);
  const { rows: orphaned } = await permittedRows(query, orphans, signal);
  return { managed, orphaned, machines: await machinesOf(query, managed, signal), isWhole };
}

export interface ReadTree extends TreeRows {
  readonly managed: readonly LiveRow[];
  /** The project forbids nothing of what is managed. */
  readonly isWhole: boolean;
}

/** The machines that pods among these nodes run on. */
export async function machinesOf(
  { cluster }: Pick<TreeRowsQuery, 'cluster'>,
  nodes: readonly (ResourceRef & { readonly key: ResourceKey })[],
  signal: AbortSignal,
): Promise<TreeRows['machines']> {
  const pods = nodes.filter(({ group, kind }) => kind === 'Pod' && group === '').map(({ key }) => key);
  return pods.length === 0 ? [] : cluster.machines(pods, signal);
}

/**
 * The project's rules stay here, so that a cluster is asked in plain values: what they forbid among the rows is named, and left out the second
 * time. Mostly there is nothing to name, and one question is enough.
 */
async function permittedRows(
  { cluster, permitted }: TreeRowsQuery,
  roots: readonly ResourceKey[],
  signal: AbortSignal,
): Promise<{ readonly rows: readonly LiveRow[]; readonly isWhole: boolean }> {
  if (roots.length === 0) return { rows: [], isWhole: true };
  let leaveOut: readonly ResourceKey[] = [];
  for (;;) {
    const rows = await cluster.tree({ roots, leaveOut }, signal);
    const forbidden = rows.filter((row) => !permitted(row)).map(({ key }) => key);
    if (forbidden.length === 0) return { rows, isWhole: leaveOut.length === 0 };
    leaveOut = [...leaveOut, ...forbidden];
  }
}

async function orphanRoots(
  { app, project, roots, cluster, permitted, isApplication }: TreeRowsQuery,
  signal: AbortSignal,
): Promise<readonly ResourceKey[]> {
  const namespace = destinationNamespaceOf(app);
  if (project.spec.orphanedResources === undefined || namespace === '') return [];
  const managed = new Set(roots.map((root) => root.key));
  const rows = await cluster.topLevel(namespace, signal);
  return rows
    .filter((row) => !managed.has(row.key) && permitted(row))
    .filter((row) => row.app === undefined || !isApplication(row.app))
    .filter((row) => !isOrphanIgnored(project, row))
    .map((row) => row.key);
}
