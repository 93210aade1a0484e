import { asCount, defined, inSlices } from '#base';
import type { Clock } from '#base';
import { growTree, growTreeSteps } from '#compare';
import type { GrownTree, ResourceComparison, TreeRoot } from '#compare';
import type { LiveCluster } from '#live';
import { keyOfRef } from '#model';
import type { Application, AppProject, ResourceKey, ResourceRef } from '#model';
import { readTree } from '../comparison/tree-rows.ts';
import { liveAges } from './live-age.ts';
import type { LiveAge } from './live-age.ts';

/** A node of the tree for display; parents are positions in the list. */
export interface ReportedTreeNode extends ResourceRef {
  readonly version: string;
  readonly parents: readonly number[];
  readonly health?: string;
  readonly healthMessage?: string;
  readonly sync?: string;
  readonly wave?: number;
  readonly isHook: boolean;
  readonly isMissing: boolean;
  readonly createdAt?: string;
  /** Only while its kind is not fresh. */
  readonly liveAge?: LiveAge;
  readonly images: readonly string[];
  readonly details: readonly { readonly name: string; readonly value: string }[];
}

export interface ReportedTree {
  readonly nodes: readonly ReportedTreeNode[];
  readonly total: number;
  readonly message?: string;
}

/** The part of its tree that an Application may show. */
export interface TreeScope {
  readonly project: AppProject;
  readonly permitted: (ref: ResourceRef) => boolean;
  readonly isApplication: (instance: string) => boolean;
}

export interface TreeReportDeps {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly roots: readonly TreeRoot[] | undefined;
  readonly rows: readonly ResourceComparison[];
  readonly cluster: LiveCluster | undefined;
  /** Undefined: the project forbids the Application. */
  readonly scope: TreeScope | undefined;
}

const maxNodes = 5000;
const maxDetails = 8;
const maxTextLength = 256;

/** Reads the tree of one Application from the live state; nothing is kept. */
export async function reportTree(app: Application, deps: TreeReportDeps, signal: AbortSignal): Promise<ReportedTree> {
  const entries = await treeEntries(app, deps, signal);
  if (typeof entries === 'string') return { nodes: [], total: 0, message: entries };
  const shown = entries.slice(0, maxNodes);
  const position = new Map(shown.map(({ key }, i) => [key, i]));
  const rows = new Map(deps.rows.map((row) => [row.key, row]));
  const ageOf = liveAges(deps.cluster);
  const nodes = shown.map((entry) => {
    const node = nodeOf(entry, position, rows.get(entry.key));
    return { ...node, ...defined({ liveAge: ageOf(node) }) };
  });
  return { total: entries.length, nodes };
}

/** All objects of the tree, or why there are none. */
export async function treeEntries(
  app: Application,
  { roots, cluster, scope, clock }: TreeReportDeps,
  signal: AbortSignal,
): Promise<GrownTree['entries'] | string> {
  if (roots === undefined) return 'it was not compared since this replica became the owner';
  if (scope === undefined) return 'its project does not permit it';
  if (cluster === undefined) return 'its cluster is not watched';
  const { managed, orphaned } = await readTree({ app, roots, cluster, ...scope }, signal);
  const grown = await inSlices(growTreeSteps(roots, managed), { clock }, signal);
  return [...grown.entries, ...growTree([], orphaned).entries];
}

function nodeOf(
  { row: live, node }: GrownTree['entries'][number],
  position: ReadonlyMap<ResourceKey, number>,
  row: ResourceComparison | undefined,
): ReportedTreeNode {
  const parents = (node.parentRefs ?? []).flatMap((ref) => position.get(keyOfRef(refOf(ref))) ?? []);
  const health = row?.health ?? node.health;
  return {
    ...refOf(node),
    version: node.version,
    parents,
    isHook: row?.hook === true,
    isMissing: live === undefined,
    images: (node.images ?? []).slice(0, maxDetails).map(shortened),
    details: (node.info ?? [])
      .slice(0, maxDetails)
      .map(({ name, value }) => ({ name: shortened(name), value: shortened(value) })),
    ...defined({
      health: live === undefined ? 'Missing' : health?.status,
      healthMessage: health?.message === undefined ? undefined : shortened(health.message),
      sync: row?.status.status,
      wave: row?.status.syncWave === undefined ? undefined : asCount(row.status.syncWave, 0),
      createdAt: node.createdAt,
    }),
  };
}

function refOf({
  group = '',
  kind,
  namespace = '',
  name,
}: Partial<ResourceRef> & Pick<ResourceRef, 'kind' | 'name'>): ResourceRef {
  return { group, kind, namespace, name };
}

function shortened(text: string): string {
  return text.slice(0, maxTextLength);
}
