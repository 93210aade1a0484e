import { isObject, UsageError } from '#base';
import { isLabelKey } from '#model';
import { addressChecks } from '../connect/address-checks.ts';
import {
  check,
  hasMembers,
  hasMethods,
  isBoolean,
  isFunction,
  isOneOf,
  isShape,
  isSignal,
  isText,
  isWholeIn,
} from '../options/checks.ts';
import type { OptionCheck } from '../options/checks.ts';
import { isFieldManager } from './field-manager.ts';
import { OpenedGate } from './gate.ts';
import { requireNames, requireTargets } from './inputs.ts';
import type { GateOptions, SyncInputs, SyncOwner, WriterOptions } from './types.ts';

const isMillisecondsAbove = (least: string, isValid: (value: number) => boolean): OptionCheck =>
  check(`a number of milliseconds, ${least}`, (value) => typeof value === 'number' && isValid(value));

/** Callers in JavaScript would write for real. */
const isNoDryRun: OptionCheck = (_value, name) => {
  throw new UsageError(`there is no ${name}: a writer of openWriter({ dryRun: true }) makes the sync a dry run`);
};

const syncOptions: Readonly<Record<keyof NonNullable<SyncInputs['options']> | 'dryRun', OptionCheck>> = {
  prune: isBoolean,
  force: isBoolean,
  replace: isBoolean,
  serverSideApply: isBoolean,
  validate: isBoolean,
  skipHooks: isBoolean,
  pruneLast: isBoolean,
  applyOutOfSyncOnly: isBoolean,
  createNamespace: isBoolean,
  skipDryRunOnMissing: isBoolean,
  prunePropagationPolicy: isOneOf(['Foreground', 'Background', 'Orphan']),
  defaultPrune: isOneOf(['true', 'false', 'confirm']),
  pruneConfirmed: isBoolean,
  waveDelayMs: isMillisecondsAbove('0 or more', (value) => value >= 0),
  migrationManager: isFieldManager,
  dryRun: isNoDryRun,
};

const labelValue = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const isLabelValue = check(
  'the value of a label: 1 to 63 letters, digits, "-", "_" and "."',
  (value) => typeof value === 'string' && labelValue.test(value),
);
const isOwner = isShape<SyncOwner>(
  {
    label: check('the key of a label', (value) => typeof value === 'string' && isLabelKey(value)),
    value: isLabelValue,
    adopt: isBoolean,
  },
  ['label', 'value'],
);

const namespaceName = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;
const hasWriterMethods = hasMethods(['get', 'apply', 'create', 'delete', 'patchMetadata', 'denied']);
const writerMembers = hasMembers({
  dryRun: isBoolean,
  server: isText,
  fieldManager: isFieldManager,
  refresh: isFunction,
});
const isCache = hasMethods(['apiMetadata', 'read', 'observe']);
const isList = check('a list', Array.isArray);

const isSyncInputs = isShape<SyncInputs>(
  {
    targets: isList,
    known: isList,
    // The inventory is stored data: it has errors of its own.
    inventory: () => undefined,
    inventoryName: isText,
    writer: (value, name) => {
      const isWriter = hasWriterMethods(value) && isObject(Reflect.get(value as object, 'discovery'));
      check('that of openWriter (await it), or a SyncWriter', () => isWriter)(value, name);
      writerMembers(value, name);
    },
    cache: check(
      'that of openCache (await it)',
      (value) => isCache(value) && typeof Reflect.get(value as object, 'server') === 'string',
    ),
    namespace: check(
      'the name of a namespace: 1 to 63 lower-case letters, digits and "-"',
      (value) => typeof value === 'string' && namespaceName.test(value),
    ),
    owner: isOwner,
    options: isShape(syncOptions),
    diff: check(
      'that of diffRules',
      (value) => isObject(value) && isObject(value['settings']) && Array.isArray(value['ignoreDifferences']),
    ),
    health: isFunction,
    revision: isText,
    deadlineMs: isMillisecondsAbove('more than 0', (value) => value > 0),
    isSelected: isFunction,
    onStep: isFunction,
    onWarning: isFunction,
    signal: isSignal,
  },
  ['targets', 'writer'],
);

const isWriterOptions = isShape<WriterOptions>({
  ...addressChecks,
  dryRun: isBoolean,
  denied: isFunction,
  fieldManager: isFieldManager,
  gate: check('that of openGate', (value) => value instanceof OpenedGate),
});

const isGateOptions = isShape<GateOptions>({ maxEntries: isWholeIn(1, Number.MAX_SAFE_INTEGER) });

/** @throws UsageError for unknown inputs, invalid values, and targets that are no objects. */
export function checkSyncInputs(inputs: SyncInputs): void {
  isSyncInputs(inputs, 'inputs');
  requireTargets(inputs.targets);
  requireNames(inputs.known ?? []);
}

/** @throws UsageError */
export function checkWriterOptions(options: WriterOptions): void {
  isWriterOptions(options, 'options');
}

/** @throws UsageError */
export function checkGateOptions(options: GateOptions): void {
  isGateOptions(options, 'options');
}
