import { isLabelKey } from '#model';
import { aFieldManager } from './field-manager.ts';
import { OpenedGate } from './gate.ts';
import { requireNames, requireTargets } from './inputs.ts';
import {
  aBoolean,
  aFunction,
  aList,
  aText,
  checkOptions,
  hasMethods,
  isObject,
  oneOf,
  textLike,
} from './option-rules.ts';
import type { OptionRule, OptionRules } from './option-rules.ts';
import type { GateOptions, SyncInputs, SyncOwner, WriterOptions } from './types.ts';

const milliseconds = (least: string, accepts: (value: number) => boolean): OptionRule => ({
  valid: `a number of milliseconds, ${least}`,
  accepts: (value) => typeof value === 'number' && accepts(value),
});

/** `dryRun` is in them for callers in JavaScript, who would otherwise write for real. */
const syncOptions: Readonly<Record<keyof NonNullable<SyncInputs['options']> | 'dryRun', OptionRule>> = {
  prune: aBoolean,
  force: aBoolean,
  replace: aBoolean,
  serverSideApply: aBoolean,
  validate: aBoolean,
  skipHooks: aBoolean,
  pruneLast: aBoolean,
  applyOutOfSyncOnly: aBoolean,
  createNamespace: aBoolean,
  skipDryRunOnMissing: aBoolean,
  prunePropagationPolicy: oneOf('Foreground', 'Background', 'Orphan'),
  defaultPrune: oneOf('true', 'false', 'confirm'),
  pruneConfirmed: aBoolean,
  waveDelayMs: milliseconds('0 or more', (value) => value >= 0),
  migrationManager: aFieldManager,
  dryRun: { ...aBoolean, instead: 'a writer of openWriter({ dryRun: true }) makes the sync a dry run' },
};

const owner: Readonly<Record<keyof SyncOwner, OptionRule>> = {
  label: {
    valid: 'the key of a label',
    accepts: (value) => typeof value === 'string' && isLabelKey(value),
    isRequired: true,
  },
  value: {
    ...textLike(
      /^[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/,
      'the value of a label: 1 to 63 letters, digits, "-", "_" and "."',
    ),
    isRequired: true,
  },
  adopt: aBoolean,
};

const syncInputs: Readonly<Record<keyof SyncInputs, OptionRule>> = {
  targets: { ...aList, isRequired: true },
  known: aList,
  // The inventory is stored data: it has errors of its own.
  inventory: { valid: 'that of the last sync', accepts: () => true },
  inventoryName: aText,
  writer: { valid: 'that of openWriter (await it), or a SyncWriter', accepts: isWriter, isRequired: true },
  cache: { valid: 'that of openCache (await it)', accepts: isCache },
  namespace: textLike(
    /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/,
    'the name of a namespace: 1 to 63 lower-case letters, digits and "-"',
  ),
  owner: { valid: 'an object with label and value', accepts: isObject, members: owner },
  options: { valid: 'an object of sync options', accepts: isObject, members: syncOptions },
  diff: { valid: 'that of diffRules', accepts: isDiffRules },
  health: aFunction,
  revision: aText,
  deadlineMs: milliseconds('more than 0', (value) => value > 0),
  isSelected: aFunction,
  onStep: aFunction,
  onWarning: aFunction,
  signal: { valid: 'an AbortSignal', accepts: isSignal },
};

const writerOptions: Readonly<Record<keyof WriterOptions, OptionRule>> = {
  kubeConfig: {
    valid: 'a path or a KubeConfig',
    accepts: (value) => typeof value === 'string' || isObject(value),
  },
  context: aText,
  dryRun: aBoolean,
  denied: aFunction,
  fieldManager: aFieldManager,
  gate: { valid: 'that of openGate', accepts: (value) => value instanceof OpenedGate },
};

const gateOptions: Readonly<Record<keyof GateOptions, OptionRule>> = {
  maxEntries: {
    valid: 'a whole number above 0',
    accepts: (value) => Number.isInteger(value) && (value as number) > 0,
  },
};

/** @throws UsageError for unknown inputs, invalid values, and targets that are no objects. */
export function checkSyncInputs(inputs: SyncInputs): void {
  checkOptions(inputs, syncInputs, { what: 'a sync' });
  requireTargets(inputs.targets);
  requireNames(inputs.known ?? []);
}

/** @throws UsageError */
export function checkWriterOptions(options: WriterOptions): void {
  checkOptions(options, writerOptions, { what: 'openWriter' });
}

/** @throws UsageError */
export function checkGateOptions(options: GateOptions): void {
  checkOptions(options, gateOptions, { what: 'openGate' });
}

const writerMethods = ['get', 'apply', 'create', 'delete', 'patchMetadata', 'denied'];
const writerMembers: OptionRules = { dryRun: aBoolean, server: aText, fieldManager: aFieldManager, refresh: aFunction };

function isWriter(value: unknown): boolean {
  if (!hasMethods(value, writerMethods) || !isObject(value['discovery'])) return false;
  return Object.entries(writerMembers).every(
    ([name, { accepts }]) => value[name] === undefined || accepts(value[name]),
  );
}

function isCache(value: unknown): boolean {
  return hasMethods(value, ['apiMetadata', 'read', 'observe']) && typeof value['server'] === 'string';
}

function isDiffRules(value: unknown): boolean {
  return isObject(value) && isObject(value['settings']) && Array.isArray(value['ignoreDifferences']);
}

/** By its members: the signals of another realm are no instances of our class. */
function isSignal(value: unknown): boolean {
  return hasMethods(value, ['addEventListener', 'throwIfAborted']) && typeof value['aborted'] === 'boolean';
}
