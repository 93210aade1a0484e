import type { Comparison, ManagedPair } from '#compare';
import { destinationNamespaceOf, groupOf, hasSyncOption } from '#model';
import type { Application, Operation, SyncOperation } from '#model';
import { crdGroupKind, resourceOption, waveOf } from '#sync';
import { selectedBy } from './operation-step.ts';

/** Inputs of the decision whether a self-heal writes before it is recorded. */
export interface RepairFacts {
  readonly app: Application;
  readonly operation: Operation;
  readonly comparison: Comparison;
  /** A user waits for the refresh that starts it. */
  readonly isAsked: boolean;
  /** The last repair did not succeed without a record. */
  readonly hasFailed: boolean;
}

/** More objects take long enough that people want to see the operation meanwhile. */
const maxRepairedObjects = 100;

/**
 * Why a self-heal is recorded before it writes; undefined: it may write first, because its writes
 * can be repeated, and losing its record loses nothing else. Its step still checks the project,
 * windows, identity and ownership.
 */
export function whyRecordFirst(facts: RepairFacts): string | undefined {
  const { app, operation, comparison } = facts;
  const { sync, initiatedBy } = operation;
  if (initiatedBy?.automated !== true || sync?.autoHealAttemptsCount === undefined) return 'it is no self-heal';
  if ((sync.resources ?? []).length === 0) return 'it names no objects';
  if (facts.isAsked) return 'a user waits for it';
  if (facts.hasFailed) return 'the last repair failed';
  if (app.operation !== undefined || app.metadata.deletionTimestamp !== undefined) return 'the application is busy';
  if (app.status?.operationState?.phase !== 'Succeeded') return 'the last operation did not succeed';
  return whyNotRepeatable(app, sync, comparison);
}

function whyNotRepeatable(app: Application, sync: SyncOperation, comparison: Comparison): string | undefined {
  const isForced = sync.syncStrategy?.apply?.force === true || sync.syncStrategy?.hook?.force === true;
  if (isForced || hasSyncOption(sync.syncOptions, 'Replace=true')) return 'it replaces objects';
  const namespace = destinationNamespaceOf(app);
  const isSelected = selectedBy(sync, comparison, namespace);
  const pairs = comparison.pairs.filter(({ target, live }) => {
    const object = target ?? live;
    return object !== null && isSelected(object);
  });
  if (pairs.length > maxRepairedObjects) return 'it names many objects';
  if (hasSyncOption(sync.syncOptions, 'CreateNamespace=true') && !hasNamespace(app, pairs, namespace))
    return 'it may create a namespace';
  if (new Set(pairs.map(({ target }) => (target === null ? 0 : waveOf(target)))).size > 1) return 'it has waves';
  for (const pair of pairs) {
    const reason = whyNotPlain(pair);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

function whyNotPlain({ target, live, hook }: ManagedPair): string | undefined {
  if (target === null) return 'it prunes objects';
  if (hook) return 'it names a hook';
  const isNamespace = target.kind === 'Namespace' && groupOf(target.apiVersion) === '';
  if (isNamespace || crdGroupKind(target) !== undefined) return 'it changes a namespace or a definition';
  const isForced = [target, live].some((object) =>
    ['Replace', 'Force'].some((option) => resourceOption(object, option) === 'true'),
  );
  return isForced ? 'it replaces objects' : undefined;
}

/** Whether the destination namespace exists and its metadata stays as it is. */
function hasNamespace({ spec }: Application, pairs: readonly ManagedPair[], namespace: string): boolean {
  const managesMetadata = spec.syncPolicy?.managedNamespaceMetadata !== undefined;
  return !managesMetadata && pairs.some(({ live }) => live?.metadata.namespace === namespace);
}
