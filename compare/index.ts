/**
 * compare: how an Application differs from its desired state. Pure: values in, values out.
 *
 * Mental model: desired and live state are paired up, resource by resource (pairing); a row is the
 * comparison of one resource, from its own facts and the rules that all rows share (row); rows fold
 * into one comparison, in any order (fold). The store keeps the rows of each Application and reuses
 * those with equal input; in a big Application where only some live objects changed, it replaces
 * only their rows (change). The result always equals a full comparison (decision D6).
 *
 * Interface:
 *  normalizeTargets(rendered, rules) -> targets      objects as this Application deploys them
 *  compareState(facts) -> Comparison                 compares every resource anew
 *  RowStore.compare(facts, changed) -> Comparison    the same, at the cost of what changed
 *  RowStore.steps, managedResourceSteps, growTreeSteps
 *                                                    the same in small steps, so that big
 *                                                    Applications do not block the event loop
 *  toDryRun(facts) -> pairs                          requests of a server-side diff; the responses
 *                                                    are part of the facts
 *  diffByOutcome, isPreparedByWrites                one pair of a server-side diff
 *  managedResources, treeRoots, buildTree            what the UI reads of a comparison
 *  growTree, changeTree                              the managed part of the tree, in full and
 *                                                    incrementally
 *  equalSources, equalLoosely, ...                   whether two values of a spec mean the same
 *
 * It never fetches anything: desired and live state come in as values.
 */
export { migrationManagerOf } from './apply-rules.ts';
export { compareState, maxJqSteps, toDryRun } from './comparison.ts';
export { diffByOutcome, isPreparedByWrites } from './dry-run-diff.ts';
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
export { managedResourceSteps, treeRoots } from './managed.ts';
export {
  isManagedNamespace,
  managedNamespace,
  managedNamespaceMetadataChanged,
  writesNamespaceMetadata,
} from './namespaces.ts';
export type { NamespaceSharer } from './namespaces.ts';
export { reasonNotApplied } from './rule-faults.ts';
export { equalLoosely, equalNamespaceMetadata, equalSourceLists, equalSources } from './source-equality.ts';
export { comparedToOf } from './sources.ts';
export { recordApiVersions, schemaApiVersions } from './needed-schemas.ts';
export type { ResourceComparison } from './row.ts';
export { rowMisses, RowStore } from './store.ts';
export type { RowMiss, StoredComparison } from './store.ts';
export { normalizeTargets } from './targets.ts';
export type { NormalTargets } from './targets.ts';
export { changeTree, growTreeSteps, growTree, rowIn } from './grown-tree.ts';
export type { GrownTree, RowChange, TreeRoot } from './grown-tree.ts';
export { buildTree } from './tree.ts';
export type { BuiltTree, TreeRows } from './tree.ts';
export { isUnreadKind, unreadConditions } from './unread.ts';
