import { annotations, csvAnnotation, groupOf, hasSyncOption } from '#model';
import type { KubeObject, SyncOperation } from '#model';
import type { SyncOptions } from './types.ts';

/** The first value of `key` in an object's sync-options annotation. */
export function resourceOption(object: KubeObject | null, key: string): string | undefined {
  if (object === null) return undefined;
  return optionValue(csvAnnotation(object, annotations.syncOptions), key);
}

/** The first value of `key` in a list of `Key=value` options. */
export function optionValue(options: readonly string[], key: string): string | undefined {
  if (options.length <= maxUncachedOptions) return findOptionValue(options, key);
  const known = longListValues.get(options) ?? new Map<string, string | undefined>();
  longListValues.set(options, known);
  if (!known.has(key)) known.set(key, findOptionValue(options, key));
  return known.get(key);
}

/** Values by key of long lists: a list may have 100,000 options and is searched per resource. */
const longListValues = new WeakMap<readonly string[], Map<string, string | undefined>>();
const maxUncachedOptions = 32;

function findOptionValue(options: readonly string[], key: string): string | undefined {
  return options.find((option) => option.startsWith(`${key}=`))?.slice(key.length + 1);
}

/** Whether the object's sync-options annotation contains exactly `option`. */
export function hasResourceOption(object: KubeObject | null, option: string): boolean {
  return object !== null && csvAnnotation(object, annotations.syncOptions).includes(option);
}

/** Inputs of {@link readSyncOptions} that are not fields of the operation. */
export interface OperationFacts {
  /** The deletion-approved annotation is not older than the start of the operation. */
  readonly pruneConfirmed: boolean;
  readonly waveDelayMs: number;
  /** Field manager of earlier client-side applies; see {@link SyncOptions.migrationManager}. */
  readonly migrationManager?: string;
}

/**
 * The options of one operation (Argo CD: controller/sync.go). Reads only the operation's own
 * syncOptions: its initiator copies those of the Application.
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

/** Background takes precedence over foreground, and foreground (the default) over orphan. */
function propagation(options: readonly string[]): SyncOptions['prunePropagationPolicy'] {
  if (options.includes('PrunePropagationPolicy=background')) return 'Background';
  if (options.includes('PrunePropagationPolicy=foreground')) return 'Foreground';
  return options.includes('PrunePropagationPolicy=orphan') ? 'Orphan' : 'Foreground';
}

/** Whether `live` is a Namespace that targets are in: its deletion would delete them, too. */
export function containsTarget(live: KubeObject, targets: Iterable<KubeObject | null>): boolean {
  if (live.kind !== 'Namespace' || groupOf(live.apiVersion) !== '') return false;
  for (const target of targets) if (target?.metadata.namespace === live.metadata.name) return true;
  return false;
}
