import { isObject, UsageError } from '#base';
import { isLabelKey, isLabelValue } from '#model';
import { addressChecks } from '../connect/address-checks.ts';
import {
  check,
  mustHaveMembers,
  hasMethods,
  mustBeBoolean,
  mustBeFunction,
  mustBeOneOf,
  mustBeShape,
  mustBeSignal,
  mustBeText,
  mustBeWholeIn,
} from '../options/checks.ts';
import type { OptionCheck } from '../options/checks.ts';
import { mustBeFieldManager } from './field-manager.ts';
import { OpenedGate } from './gate.ts';
import { requireNames, requireTargets } from './inputs.ts';
import type { GateOptions, SyncInputs, SyncOwner, WriterOptions } from './types.ts';

const mustBeMilliseconds = (least: string, isValid: (value: number) => boolean): OptionCheck =>
  check(`a number of milliseconds, ${least}`, (value) => typeof value === 'number' && isValid(value));

/** Callers in JavaScript would write for real. */
const mustNotBeDryRun: OptionCheck = (_value, name) => {
  throw new UsageError(`there is no ${name}: a writer of openWriter({ dryRun: true }) makes the sync a dry run`);
};

const syncOptions: Readonly<Record<keyof NonNullable<SyncInputs['options']> | 'dryRun', OptionCheck>> = {
  prune: mustBeBoolean,
  force: mustBeBoolean,
  replace: mustBeBoolean,
  serverSideApply: mustBeBoolean,
  validate: mustBeBoolean,
  skipHooks: mustBeBoolean,
  pruneLast: mustBeBoolean,
  applyOutOfSyncOnly: mustBeBoolean,
  createNamespace: mustBeBoolean,
  skipDryRunOnMissing: mustBeBoolean,
  prunePropagationPolicy: mustBeOneOf(['Foreground', 'Background', 'Orphan']),
  defaultPrune: mustBeOneOf(['true', 'false', 'confirm']),
  pruneConfirmed: mustBeBoolean,
  waveDelayMs: mustBeMilliseconds('0 or more', (value) => value >= 0),
  migrationManager: mustBeFieldManager,
  dryRun: mustNotBeDryRun,
};

const mustBeLabelValue = check(
  'the value of a label: 1 to 63 letters, digits, "-", "_" and "."',
  (value) => value !== '' && isLabelValue(value),
);
const mustBeOwner = mustBeShape<SyncOwner>(
  {
    label: check('the key of a label', (value) => typeof value === 'string' && isLabelKey(value)),
    value: mustBeLabelValue,
    adopt: mustBeBoolean,
  },
  ['label', 'value'],
);

const namespaceName = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;
const hasWriterMethods = hasMethods(['get', 'apply', 'create', 'delete', 'patchMetadata', 'denied']);
const writerMembers = mustHaveMembers({
  dryRun: mustBeBoolean,
  server: mustBeText,
  fieldManager: mustBeFieldManager,
  refresh: mustBeFunction,
});
const isCache = hasMethods(['apiMetadata', 'read', 'observe']);
const mustBeList = check('a list', Array.isArray);

const mustBeSyncInputs = mustBeShape<SyncInputs>(
  {
    targets: mustBeList,
    known: mustBeList,
    // The inventory is stored data: it has errors of its own.
    inventory: () => undefined,
    inventoryName: mustBeText,
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
    owner: mustBeOwner,
    pruneDefinitions: mustBeBoolean,
    options: mustBeShape(syncOptions),
    diff: check(
      'that of diffRules',
      (value) => isObject(value) && isObject(value['settings']) && Array.isArray(value['ignoreDifferences']),
    ),
    health: mustBeFunction,
    revision: mustBeText,
    deadlineMs: mustBeMilliseconds('more than 0', (value) => value > 0),
    isSelected: mustBeFunction,
    onStep: mustBeFunction,
    onWarning: mustBeFunction,
    signal: mustBeSignal,
  },
  ['targets', 'writer'],
);

const mustBeWriterOptions = mustBeShape<WriterOptions>({
  ...addressChecks,
  dryRun: mustBeBoolean,
  denied: mustBeFunction,
  fieldManager: mustBeFieldManager,
  gate: check('that of openGate', (value) => value instanceof OpenedGate),
});

const mustBeGateOptions = mustBeShape<GateOptions>({ maxEntries: mustBeWholeIn(1, Number.MAX_SAFE_INTEGER) });

/** @throws UsageError for unknown inputs, invalid values, and targets that are no objects. */
export function checkSyncInputs(inputs: SyncInputs): void {
  mustBeSyncInputs(inputs, 'inputs');
  requireTargets(inputs.targets);
  requireNames(inputs.known ?? []);
}

/** @throws UsageError */
export function checkWriterOptions(options: WriterOptions): void {
  mustBeWriterOptions(options, 'options');
}

/** @throws UsageError */
export function checkGateOptions(options: GateOptions): void {
  mustBeGateOptions(options, 'options');
}
