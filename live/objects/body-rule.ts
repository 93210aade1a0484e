import { appKeyOfInstance, partIndex } from '#model';
import type { BodyFilter } from '../types.ts';

/** Returns whether to keep whole objects of an Application, given its instance name. */
export function bodyRule(filter: BodyFilter | undefined): (instance: string) => boolean {
  if (filter === undefined) return () => true;
  const owned = new Set(filter.owned);
  return (instance) => owned.has(partIndex(appKeyOfInstance(instance, filter.namespace), filter.of));
}
