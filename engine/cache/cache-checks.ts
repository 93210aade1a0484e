import { UsageError } from '#base';
import type { ResourceRef } from '#model';
import {
  mustHaveMembers,
  mustBeObject,
  mustBeBoolean,
  mustBeFunction,
  mustBeLimitMs,
  mustBeListOf,
  mustBeMilliseconds,
  mustBeNonEmptyText,
  mustBeOneOf,
  mustBeRecordOf,
  mustBeShape,
  mustBeSignal,
  mustBeText,
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

const mustBeKindFilter = mustBeShape<KindFilter>(
  { groups: mustBeListOf(mustBeText), kinds: mustBeListOf(mustBeNonEmptyText) },
  ['groups'],
);
/** The name of a kind; objects of a cache have it too. */
export const mustBeGroupKind = mustHaveMembers({ group: mustBeText, kind: mustBeNonEmptyText }, ['group', 'kind']);

const changes = {
  include: mustBeListOf(mustBeKindFilter),
  exclude: mustBeListOf(mustBeKindFilter),
  namespaces: mustBeListOf(mustBeNonEmptyText),
  clusterScoped: mustBeBoolean,
  health: mustBeObject,
};

export const checkCacheOptions = mustBeShape<CacheOptions>({
  ...changes,
  ...addressChecks,
  resyncMs: mustBeMilliseconds,
  keep: mustBeFunction,
  handlerDeadlineMs: mustBeLimitMs,
  fillDeadlineMs: mustBeLimitMs,
  onProblem: mustBeFunction,
});

export const checkCacheChanges = mustBeShape<CacheChanges>(changes);

const operators: readonly LabelRequirement['operator'][] = ['In', 'NotIn', 'Exists', 'DoesNotExist'];
const mustBeRequirement = mustBeShape<LabelRequirement>(
  { key: mustBeNonEmptyText, operator: mustBeOneOf(operators), values: mustBeListOf(mustBeText) },
  ['key', 'operator'],
);

export const checkListOptions = mustBeShape<CacheListOptions>({
  kinds: mustBeListOf(mustBeGroupKind),
  namespaces: mustBeListOf(mustBeText),
  scope: mustBeOneOf(['namespaced', 'cluster']),
  topLevelOnly: mustBeBoolean,
  matchLabels: mustBeRecordOf(mustBeText),
  matchExpressions: mustBeListOf(mustBeRequirement),
});

export const checkHandlers = mustBeShape<CacheHandlers>({
  created: mustBeFunction,
  updated: mustBeFunction,
  deleted: mustBeFunction,
  kinds: mustBeFunction,
});

export const checkWaitOptions = mustBeShape<WaitOptions>({ deadlineMs: mustBeMilliseconds, signal: mustBeSignal });

const refMembers = { group: mustBeText, kind: mustBeNonEmptyText, namespace: mustBeText, name: mustBeNonEmptyText };
export const mustBeResourceRef = mustHaveMembers<ResourceRef>(refMembers, ['group', 'kind', 'name']);
const mustBeMetadata = mustHaveMembers({ name: mustBeNonEmptyText, namespace: mustBeText }, ['name']);
const mustBeNamedObject = mustHaveMembers(
  { apiVersion: mustBeNonEmptyText, kind: mustBeNonEmptyText, metadata: mustBeMetadata },
  ['apiVersion', 'kind', 'metadata'],
);

/** Either way of naming an object. */
export const mustBeNameOrRef: OptionCheck = (value, name) => {
  mustBeObject(value, name);
  (Object.hasOwn(value as object, 'metadata') ? mustBeNamedObject : mustBeResourceRef)(value, name);
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
