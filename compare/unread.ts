import type { UnreadObject } from '#live';
import { groupKindName } from '#model';
import type { ApplicationCondition, GroupKind, ResourceStatus } from '#model';

/** How many objects a condition names. */
const named = 3;

/** One condition per kind of which something could not be read, in Argo CD's words, with the kind and its objects behind them. */
export function unreadConditions(unread: readonly UnreadObject[]): readonly ApplicationCondition[] {
  const kinds = new Map<string, UnreadObject[]>();
  for (const object of unread) {
    const kind = groupKindName(object);
    kinds.set(kind, [...(kinds.get(kind) ?? []), object]);
  }
  return [...kinds].map(([kind, objects]) => {
    const names = objects.map(({ namespace, name }) => (namespace === '' ? name : `${namespace}/${name}`));
    const more = names.length > named ? ` and ${names.length - named} more` : '';
    const message = `Failed to load live state: ${objects[0]?.message ?? ''} (${kind} ${names.slice(0, named).join(', ')}${more})`;
    return { type: 'ComparisonError', message };
  });
}

/** The row of an object that is tracked, of which nothing but its name is known. */
export function unreadRow(object: UnreadObject, withHealth: boolean): ResourceStatus {
  const { group, version, kind, namespace, name } = object;
  return {
    ...(group === '' ? {} : { group }),
    ...{ version, kind },
    ...(namespace === '' ? {} : { namespace }),
    ...{ name, status: 'Unknown' },
    ...(withHealth ? { health: { status: 'Unknown' } } : {}),
  };
}

/** True when something of the kind could not be read: nothing of it is pruned then. */
export function isUnreadKind(unread: readonly UnreadObject[], gk: GroupKind): boolean {
  return unread.some(({ group, kind }) => group === gk.group && kind === gk.kind);
}
