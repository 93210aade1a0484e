import type { UnreadObject } from '#live';
import { groupKindName } from '#model';
import type { ApplicationCondition, NamespacedKind, ResourceStatus } from '#model';

/** Objects that a condition names. */
const maxNamedObjects = 3;

/**
 * One condition per kind with unreadable objects, in Argo CD's words, followed by the kind and
 * names.
 */
export function unreadConditions(unread: readonly UnreadObject[]): readonly ApplicationCondition[] {
  const kinds = new Map<string, UnreadObject[]>();
  for (const object of unread) {
    const kind = groupKindName(object);
    kinds.set(kind, [...(kinds.get(kind) ?? []), object]);
  }
  return [...kinds].map(([kind, objects]) => {
    const names = objects.map(({ namespace, name }) => (namespace === '' ? name : `${namespace}/${name}`));
    const more = names.length > maxNamedObjects ? ` and ${names.length - maxNamedObjects} more` : '';
    const message = `Failed to load live state: ${objects[0]?.message ?? ''} (${kind} ${names.slice(0, maxNamedObjects).join(', ')}${more})`;
    return { type: 'ComparisonError', message };
  });
}

/** Status entry of a tracked object of which only the name is known. */
export function unreadRow(object: UnreadObject, withHealth: boolean): ResourceStatus {
  const { group, version, kind, namespace, name } = object;
  return {
    ...(group === '' ? {} : { group }),
    version,
    kind,
    ...(namespace === '' ? {} : { namespace }),
    name,
    status: 'Unknown',
    ...(withHealth ? { health: { status: 'Unknown' } } : {}),
  };
}

/** True if an object of the kind could not be read there: then nothing of it is pruned there. */
export function isUnreadKind(unread: readonly UnreadObject[], at: NamespacedKind): boolean {
  return unread.some(
    ({ group, kind, namespace }) => group === at.group && kind === at.kind && namespace === at.namespace,
  );
}
