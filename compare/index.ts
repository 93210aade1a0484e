/**
 * compare: how an Application differs from what it should be. Pure: values in, values out.
 *
 * Mental model: both sides are paired up, resource by resource (pairing); a row follows from one resource and from what all rows have in common
 * (row); rows fold into one comparison, whatever their order (fold). The store keeps the rows of each Application, and uses those again whose
 * every input is the same; of a big one where only some live objects moved, it replaces their rows in the last comparison (change). What comes out
 * equals a full comparison (decision D6).
 *
 * Interface:
 *   normalizeTargets(rendered, rules) -> targets       what the sources say, as it is meant for this Application
 *   compareState(facts) -> Comparison                  every resource compared anew
 *   RowStore.compare(facts, changed) -> Comparison     the same, at the cost of what changed
 *   RowStore.steps, managedSteps, growSteps            the same in small steps, so that big Applications need not hold everything else up
 *   toDryRun(facts) -> pairs                           what a server-side diff asks the API server; the answers are part of the facts
 *   managedResources, treeRoots, buildTree             what others read of it
 *   growTree, changeTree                               the managed part of the tree, whole and by its difference
 *   equalSources, equalLoosely, ...                    whether two texts of a spec mean the same
 *
 * It refuses to fetch anything: what Git and the cluster say comes in as values.
 */
export { compareState, jqSteps, toDryRun } from './comparison.ts';
export type {
  CompareFacts,
  Comparison,
  DryRunOutcome,
  DryRunPair,
  LiveState,
  ManagedPair,
  RenderedTargets,
  ServerSideDiff,
} from './types.ts';
export { managedResources, managedSteps, treeRoots } from './managed.ts';
export { isManagedNamespace, managedNamespace, managedNamespaceMetadataChanged } from './namespaces.ts';
export { heldBack } from './rule-faults.ts';
export { equalLoosely, equalNamespaceMetadata, equalSourceLists, equalSources } from './source-equality.ts';
export { comparedToOf } from './sources.ts';
export { schemaApiVersions } from './row.ts';
export { rowMisses, RowStore } from './store.ts';
export type { RowMiss, StoredComparison } from './store.ts';
export { gkOf, normalizeTargets } from './targets.ts';
export type { NormalTargets, TargetRules } from './targets.ts';
export { changeTree, growSteps, growTree, rowIn } from './grown-tree.ts';
export type { GrownTree, RowChange, TreeRoot } from './grown-tree.ts';
export { buildTree } from './tree.ts';
export type { BuiltTree, TreeFacts, TreeRows } from './tree.ts';
export { isUnreadKind, unreadConditions } from './unread.ts';
