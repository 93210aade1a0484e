import { UsageError } from '#base';
import type { ResourceRef } from '#model';
import {
  hasMembers,
  isAnyObject,
  isBoolean,
  isFunction,
  isLimitMs,
  isListOf,
  isMilliseconds,
  isNonEmptyText,
  isOneOf,
  isRecordOf,
  isShape,
  isSignal,
  isText,
} from '../options/checks.ts';
import { addressChecks } from '../connect/address-checks.ts';
import type { OptionCheck } from '../options/checks.ts';
import type {
  CacheChanges,
  CacheHandlers,
  CacheListOptions,
  CacheOptions,
  KindFilter,
  LabelRequirement,
  WaitOptions,
} from './types.ts';

const isKindFilter = isShape<KindFilter>({ groups: isListOf(isText), kinds: isListOf(isNonEmptyText) }, ['groups']);
/** The name of a kind; objects of a cache have it too. */
export const isGroupKind = hasMembers({ group: isText, kind: isNonEmptyText }, ['group', 'kind']);

const changes = {
  include: isListOf(isKindFilter),
  exclude: isListOf(isKindFilter),
  namespaces: isListOf(isNonEmptyText),
  clusterScoped: isBoolean,
  health: isAnyObject,
};

export const checkCacheOptions = isShape<CacheOptions>({
  ...changes,
  ...addressChecks,
  resyncMs: isMilliseconds,
  keep: isFunction,
  handlerDeadlineMs: isLimitMs,
  fillDeadlineMs: isLimitMs,
  onProblem: isFunction,
});

export const checkCacheChanges = isShape<CacheChanges>(changes);

const operators: readonly LabelRequirement['operator'][] = ['In', 'NotIn', 'Exists', 'DoesNotExist'];
const isRequirement = isShape<LabelRequirement>(
  { key: isNonEmptyText, operator: isOneOf(operators), values: isListOf(isText) },
  ['key', 'operator'],
);

export const checkListOptions = isShape<CacheListOptions>({
  kinds: isListOf(isGroupKind),
  namespaces: isListOf(isText),
  scope: isOneOf(['namespaced', 'cluster']),
  topLevelOnly: isBoolean,
  matchLabels: isRecordOf(isText),
  matchExpressions: isListOf(isRequirement),
});

export const checkHandlers = isShape<CacheHandlers>({
  created: isFunction,
  updated: isFunction,
  deleted: isFunction,
  kinds: isFunction,
});

export const checkWaitOptions = isShape<WaitOptions>({ deadlineMs: isMilliseconds, signal: isSignal });

const refMembers = { group: isText, kind: isNonEmptyText, namespace: isText, name: isNonEmptyText };
export const isResourceRef = hasMembers<ResourceRef>(refMembers, ['group', 'kind', 'name']);
const isMetadata = hasMembers({ name: isNonEmptyText, namespace: isText }, ['name']);
const isNamedObject = hasMembers({ apiVersion: isNonEmptyText, kind: isNonEmptyText, metadata: isMetadata }, [
  'apiVersion',
  'kind',
  'metadata',
]);

/** Either way of naming an object. */
export const isNameOrRef: OptionCheck = (value, name) => {
  isAnyObject(value, name);
  (Object.hasOwn(value as object, 'metadata') ? isNamedObject : isResourceRef)(value, name);
};

/** @throws UsageError unless the namespace fits to the scope of the kind */
export function checkScope({ kind, namespace }: ResourceRef, namespaced: boolean, name: string): void {
  if (namespaced === (namespace !== '')) return;
  throw new UsageError(
    namespaced
      ? `${name}.namespace is missing: ${kind} is a namespaced kind`
      : `${name}.namespace must be "", not ${JSON.stringify(namespace)}: ${kind} is a cluster-scoped kind`,
  );
}
