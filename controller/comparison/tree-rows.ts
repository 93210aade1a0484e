import type { TreeRoot, TreeRows } from '#compare';
import type { LiveCluster, LiveRow } from '#live';
import { destinationNamespaceOf } from '#model';
import type { Application, AppProject, ResourceKey, ResourceRef } from '#model';
import { isOrphanIgnored } from '#policy';

export interface TreeRowsQuery {
  readonly app: Application;
  readonly project: AppProject;
  readonly roots: readonly TreeRoot[];
  readonly cluster: Pick<LiveCluster, 'tree' | 'list' | 'machines'>;
  /** Whether the project permits a resource; a forbidden one is left out with its subtree. */
  readonly permitted: (ref: ResourceRef) => boolean;
  /**
   * Whether an Application with this instance name exists; resources left by a deleted one are
   * orphans.
   */
  readonly isApplication: (instance: string) => boolean;
}

/**
 * Reads the rows of an application's tree, and the orphans of its namespace if the project watches
 * them.
 */
export async function readTree(query: TreeRowsQuery, signal: AbortSignal): Promise<ReadTree> {
  const live = query.roots.filter((root) => root.live).map((root) => root.key);
  const { rows: managed, isWhole } = await permittedRows(query, live, signal);
  const orphans = await orphanRoots(query, signal);
  const { rows: orphaned } = await permittedRows(query, orphans, signal);
  return { managed, orphaned, machines: await machinesOf(query, managed, signal), isWhole };
}

export interface ReadTree extends TreeRows {
  readonly managed: readonly LiveRow[];
  /** The project permits every managed row. */
  readonly isWhole: boolean;
}

/** The nodes that run the pods among these rows. */
export async function machinesOf(
  { cluster }: Pick<TreeRowsQuery, 'cluster'>,
  nodes: readonly (ResourceRef & { readonly key: ResourceKey })[],
  signal: AbortSignal,
): Promise<TreeRows['machines']> {
  const pods = nodes.filter(({ group, kind }) => kind === 'Pod' && group === '').map(({ key }) => key);
  return pods.length === 0 ? [] : cluster.machines(pods, signal);
}

/**
 * Reads the rows the project permits. Clusters get plain values, not project rules: forbidden rows
 * are named and left out of a second request. Usually one request is enough.
 */
async function permittedRows(
  { cluster, permitted }: TreeRowsQuery,
  roots: readonly ResourceKey[],
  signal: AbortSignal,
): Promise<{ readonly rows: readonly LiveRow[]; readonly isWhole: boolean }> {
  if (roots.length === 0) return { rows: [], isWhole: true };
  let excluded: readonly ResourceKey[] = [];
  for (;;) {
    const rows = await cluster.tree({ roots, excluded }, signal);
    const forbidden = rows.filter((row) => !permitted(row)).map(({ key }) => key);
    if (forbidden.length === 0) return { rows, isWhole: excluded.length === 0 };
    excluded = [...excluded, ...forbidden];
  }
}

async function orphanRoots(
  { app, project, roots, cluster, permitted, isApplication }: TreeRowsQuery,
  signal: AbortSignal,
): Promise<readonly ResourceKey[]> {
  const namespace = destinationNamespaceOf(app);
  if (project.spec.orphanedResources === undefined || namespace === '') return [];
  const managed = new Set(roots.map((root) => root.key));
  const rows = await cluster.list({ namespaces: [namespace], topLevelOnly: true }, signal);
  return rows
    .filter((row) => !managed.has(row.key) && permitted(row))
    .filter((row) => row.app === undefined || !isApplication(row.app))
    .filter((row) => !isOrphanIgnored(project, row))
    .map((row) => row.key);
}
