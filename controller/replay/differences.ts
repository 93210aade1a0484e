import { deepEqual, isObject, ownMember } from '#base';
import type { Json } from '#base';

/** A decision that this version makes differently. Undefined: it makes none. */
export interface DecisionDifference {
  /** Such as `resources[apps/Deployment/shop/web].sync`. */
  readonly path: string;
  readonly recorded: Json | undefined;
  readonly replayed: Json | undefined;
}

const maxDifferences = 100;

export function decisionDifferences(recorded: Json, replayed: Json): readonly DecisionDifference[] {
  const found: DecisionDifference[] = [];
  const visit = (before: Json | undefined, now: Json | undefined, path: string): void => {
    if (found.length >= maxDifferences || deepEqual(before, now)) return;
    if (isObject(before) && isObject(now)) {
      for (const name of new Set([...Object.keys(before), ...Object.keys(now)]))
        visit(ownMember(before, name), ownMember(now, name), pathTo(path, name));
    } else if (Array.isArray(before) && Array.isArray(now) && before.length === now.length)
      for (const [i, item] of (before as readonly Json[]).entries())
        visit(item, (now as readonly Json[])[i], `${path}[${i}]`);
    else found.push({ path, recorded: before, replayed: now });
  };
  visit(recorded, replayed, '');
  return found;
}

function pathTo(path: string, name: string): string {
  if (/^[A-Za-z][A-Za-z0-9]*$/.test(name)) return path === '' ? name : `${path}.${name}`;
  return `${path}[${name}]`;
}
