import { deepEqual, isObject } from '#base';
import type { Json, JsonObject } from '#base';
import { isList } from './normal.ts';
import type { AppPlan } from './plan.ts';
import type { WorldDifference } from './reading.ts';

/** A deliberate difference. */
export interface KnownDifference {
  /** The row of docs/compatibility.md, by its subject. */
  readonly row: string;
  /** `others`: all of its Application that no row explains alone; at first none. */
  readonly explains: (
    difference: WorldDifference,
    others: readonly WorldDifference[],
    plan: AppPlan | undefined,
  ) => boolean;
}

/** Conditions that Argo CD has not, by type, with their rows. */
const ownConditions = {
  SourceUnavailableWarning: 'self-heal while a source cannot be read',
  KeptResourceWarning:
    'objects that automated sync cannot prune: kept by `Prune=false` or by an owner that controls them, or whose deletion does not end',
  WaitingWarning: 'an operation, deletion, refresh or comparison that waits',
} as const;

function withoutCondition(conditions: Json | undefined, type: string): Json | undefined {
  if (!isList(conditions)) return conditions;
  return conditions.filter((condition) => !isObject(condition) || condition['type'] !== type);
}

export const knownDifferences: readonly KnownDifference[] = [
  { row: 'hooks', explains: ({ path }) => path.endsWith('/driftless.io/operation') },
  {
    row: 'hooks',
    explains: ({ area, theirs, ours }) =>
      ours === undefined &&
      isObject(theirs) &&
      (area === 'resources' ? theirs['hook'] === true : isLeavingHook(theirs)),
  },
  {
    // Ours knows what it replaced before, and repairs what Git drops.
    row: 'Replace=true',
    explains: (_difference, others, plan) =>
      plan !== undefined &&
      JSON.stringify(plan).includes('Replace=true') &&
      others.some(({ path, theirs }) => path === '/operation/sync/resources' && theirs === undefined) &&
      others.some(({ area, ours }) => area === 'objects' && ours === undefined),
  },
  {
    row: 'the annotation last-applied of a Secret',
    explains: ({ area, path }) =>
      area === 'objects' &&
      /^\/Secret .*\/kubectl\.kubernetes\.io\/last-applied-configuration\/(?:stringD|d)ata/.test(path),
  },
  {
    row: 'the message of an applied resource',
    explains: ({ path, theirs, ours }) => {
      const text = resultText(theirs, path);
      if (typeof text !== 'string' || typeof ours !== 'string') return false;
      return text !== theirs
        ? text === ours
        : path.endsWith('/message') && text.replace(/ configured$/, ' unchanged') === ours;
    },
  },
  {
    row: 'automated sync after a dry run, or after a sync of selected resources',
    explains: ({ area }, others) =>
      ['operation', 'conditions', 'events'].includes(area) &&
      others.some(({ path, ours }) => path === '/operation/initiatedBy/automated' && ours === true) &&
      others.some(({ path, theirs }) => /^\/operation\/sync\/(?:resources|dryRun)$/.test(path) && theirs !== undefined),
  },
  ...Object.entries(ownConditions).map(([type, row]) => ({
    row,
    explains: ({ area, theirs, ours }: WorldDifference) =>
      area === 'conditions' && deepEqual(theirs, withoutCondition(ours, type)),
  })),
  {
    row: 'the check before a sync',
    explains: ({ area, theirs, ours }) =>
      area === 'operation' && [theirs, ours].every((text) => typeof text === 'string' && text.includes('(dry run)')),
  },
  {
    row: 'the health message of an Application (`Caused by …`)',
    explains: ({ area, path }, others) =>
      area === 'status' &&
      path === '/health/message' &&
      others.length > 0 &&
      !others.some((each) => each.path === '/health/status'),
  },
  {
    // Argo CD compares with a cache that lags behind its own sync, and syncs an object once more.
    row: 'the end of a sync',
    explains: ({ area }, others) =>
      (area === 'operation' || area === 'events') &&
      others.every((each) => each.area === 'operation' || each.area === 'events') &&
      others.some(({ path, ours }) => path === '/operation/sync/resources' && ours === undefined),
  },
];

/** A hook that its finalizer keeps although it is deleted. */
function isLeavingHook(object: JsonObject): boolean {
  const text = JSON.stringify(object);
  return text.includes('deletionGracePeriodSeconds') && text.includes('argocd.argoproj.io/hook-finalizer');
}

const missingAnnotation = /\.? ?Warning: resource \S+ is missing the .* patched automatically\./g;

const temporaryFile = /error when (?:patching|replacing|creating|applying) "\/dev\/shm\/\d+": /g;

/** Argo CD's message of an applied resource without kubectl's remarks about how it was applied. */
function resultText(text: Json | undefined, path: string): Json | undefined {
  if (typeof text !== 'string') return text;
  const plain = text.replaceAll(missingAnnotation, '').replaceAll(temporaryFile, '');
  const isRole = /\/(?:Cluster)?Role(?:Binding)? /.test(path);
  if (!isRole || !plain.includes(' reconciled')) return plain;
  const [own = ''] = plain.split(' ');
  const applied = plain.slice(plain.lastIndexOf(own));
  return text.includes('reconciliation required create') ? `${own} created` : applied;
}

/** All differences, each with the row that explains it. */
export function withRows(
  differences: readonly WorldDifference[],
  planOf: (app: string) => AppPlan | undefined = () => undefined,
): readonly (WorldDifference & { readonly row: string | undefined })[] {
  const rowIn = (difference: WorldDifference, others: readonly WorldDifference[]): string | undefined =>
    knownDifferences.find(({ explains }) => explains(difference, others, planOf(difference.app)))?.row;
  const unexplained = differences.filter((difference) => rowIn(difference, []) === undefined);
  return differences.map((difference) => {
    const others = unexplained.filter(({ app }) => app === difference.app);
    return { ...difference, row: rowIn(difference, []) ?? rowIn(difference, others) };
  });
}
