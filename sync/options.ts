import { annotations, csvAnnotation, hasSyncOption } from '#model';
import type { KubeObject, SyncOperation } from '#model';
import type { SyncOptions } from './types.ts';

/** Value of `Key=` in an object's sync-options annotation: the first item with that key; undefined when none. */
export function resourceOption(object: KubeObject | null, key: string): string | undefined {
  if (object === null) return undefined;
  return optionValue(csvAnnotation(object, annotations.syncOptions), key);
}

/** Value of `Key=` in a list of options: the first that has the key. */
export function optionValue(options: readonly string[], key: string): string | undefined {
  return options.find((option) => option.startsWith(`${key}=`))?.slice(key.length + 1);
}

/** True if the object's annotation says exactly `option`. */
export function hasResourceOption(object: KubeObject | null, option: string): boolean {
  return object !== null && csvAnnotation(object, annotations.syncOptions).includes(option);
}

/** What an operation says beside its own fields. */
export interface OperationFacts {
  /** deletion-approved is not older than the start of the operation. */
  readonly pruneConfirmed: boolean;
  readonly waveDelayMs: number;
  /** Who has applied client-side before server-side apply was chosen. */
  readonly migrationManager?: string;
}

/**
 * The options of one operation (Argo CD: controller/sync.go). Only the operation's own syncOptions count: whoever starts it copies those of
 * the Application in.
 */
export function readSyncOptions(sync: SyncOperation, facts: OperationFacts): SyncOptions {
  const options = sync.syncOptions ?? [];
  const has = (option: string): boolean => hasSyncOption(options, option);
  const strategy = sync.syncStrategy;
  const defaultPrune = optionValue(options, 'Prune');
  const { migrationManager, ...rest } = facts;
  const migrates = migrationManager !== undefined && !has('ClientSideApplyMigration=false');
  return {
    dryRun: sync.dryRun === true,
    prune: sync.prune === true,
    force: strategy?.apply?.force === true || strategy?.hook?.force === true,
    replace: has('Replace=true'),
    serverSideApply: has('ServerSideApply=true'),
    validate: !has('Validate=false'),
    skipHooks: strategy?.apply !== undefined || (sync.resources?.length ?? 0) > 0,
    pruneLast: has('PruneLast=true'),
    applyOutOfSyncOnly: has('ApplyOutOfSyncOnly=true'),
    createNamespace: has('CreateNamespace=true'),
    skipDryRunOnMissing: has('SkipDryRunOnMissingResource=true'),
    prunePropagationPolicy: propagation(options),
    ...(defaultPrune === undefined ? {} : { defaultPrune }),
    ...(migrates ? { migrationManager } : {}),
    ...rest,
  };
}

/** Background is looked for first, then foreground, then orphan; foreground is the default. */
function propagation(options: readonly string[]): SyncOptions['prunePropagationPolicy'] {
  if (options.includes('PrunePropagationPolicy=background')) return 'Background';
  if (options.includes('PrunePropagationPolicy=foreground')) return 'Foreground';
  return options.includes('PrunePropagationPolicy=orphan') ? 'Orphan' : 'Foreground';
}
