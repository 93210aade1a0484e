import { parsePointer, valueAt } from '#base';
import type { Comparison, ManagedPair } from '#compare';
import { jsonOf, keyOfStatus } from '#model';
import type { ApplicationStatus } from '#model';
import type { AppEvent } from './events.ts';
import type { DroppedFields } from './verdict.ts';

/** Removals in objects that the status calls Synced: Argo CD leaves fields that Git dropped. */
export function droppedFields(
  status: ApplicationStatus | undefined,
  { pairs }: Pick<Comparison, 'pairs'>,
): readonly DroppedFields[] {
  const synced = (status?.resources ?? []).filter((resource) => resource.status === 'Synced');
  const calm = new Set(synced.map(keyOfStatus));
  return pairs.flatMap((pair): DroppedFields[] => {
    const paths = calm.has(pair.key) ? pathsOf(pair).filter((path) => isRemoval(pair.diff, path)) : [];
    return paths.length === 0 ? [] : [{ resource: pair.key, paths }];
  });
}

/** The paths at which live and target differ; none while one of them does not exist. */
export function pathsOf(pair: ManagedPair | undefined): readonly string[] {
  return pair?.live == null || pair.target === null ? [] : pair.diff.paths;
}

/** Whether a value, or an item of a list, is not there after the sync. */
function isRemoval({ normalizedLive, predictedLive }: ManagedPair['diff'], path: string): boolean {
  if (normalizedLive === null || predictedLive === null) return false;
  const steps = parsePointer(path) ?? [];
  const [before, after] = [normalizedLive, predictedLive].map((object) => valueAt(jsonOf(object), ...steps));
  if (before === undefined) return false;
  return after === undefined || (Array.isArray(before) && Array.isArray(after) && after.length < before.length);
}

const maxNamed = 3;

/**
 * Announces removals before the first sync after a switch from Argo CD. Names objects and fields,
 * never values. Undefined: there are none.
 */
export function removalEvent(dropped: readonly DroppedFields[]): AppEvent | undefined {
  if (dropped.length === 0) return undefined;
  const named = dropped.slice(0, maxNamed).map(({ resource, paths }) => `${resource}: ${listed(paths)}`);
  const more = dropped.length > maxNamed ? `; and ${dropped.length - maxNamed} more objects` : '';
  return {
    type: 'Warning',
    reason: 'RemovalPending',
    message: `The next sync removes fields that Git does not contain from objects that were Synced: ${named.join('; ')}${more}`,
  };
}

function listed(paths: readonly string[]): string {
  const more = paths.length > maxNamed ? `, and ${paths.length - maxNamed} more` : '';
  return `${paths.slice(0, maxNamed).join(', ')}${more}`;
}
