import { hashText, isObject, otherKeys, RollingSums } from '#base';
import type { Json, RollingWindow } from '#base';
import type { ResourceKey } from '#model';

/** A step of a path: the name of a member, or `null` for any item of a list. */
export type PathStep = string | null;

/** Changes of an object in which the same paths differed. */
export interface ChangeSet {
  readonly paths: readonly (readonly PathStep[])[];
  readonly changes: number;
  /** The health status changed too, so that no rule hides these changes. */
  readonly changesHealth: boolean;
}

/** Changed paths of one object over the last hour, never values. */
export interface ChangedObject {
  readonly key: ResourceKey;
  readonly sets: readonly ChangeSet[];
  /** Changes of other sets of paths, and of an object that is too big to record. */
  readonly unrecorded: number;
}

interface PathsEntry {
  /** A hash of the value at each path; undefined: unknown, or too big. */
  last: ReadonlyMap<string, string> | undefined;
  health: string;
  /** Nothing was observed yet. */
  isNew: boolean;
  readonly sums: RollingSums<'changes'>;
  seenAt: number;
}

const maxObjects = 20;
const maxSets = 16;
const maxPathsOfSet = 24;
const maxSetLength = 2048;
const maxPaths = 1000;
const maxPathsLength = 65_536;
const maxValuesLength = 262_144;
const idleMs = 60_000;
const healthMark = '!';
const oneHour: RollingWindow = { sliceMs: 600_000, slices: 6, maxKeys: maxSets };

/**
 * Records which paths change in objects that change too often. Bounded in objects, sets and bytes;
 * calm objects are never passed to it. Keeps hashes of values only.
 */
export class ChangedPaths {
  readonly #entries = new Map<ResourceKey, PathsEntry>();

  /** @param value what counts of the object; @param health its status */
  observe(key: ResourceKey, value: Json, health: string, now: number): void {
    const entry = this.#entryOf(key, now);
    if (entry === undefined) return;
    entry.seenAt = now;
    const paths = hashedPaths(value);
    if (!entry.isNew) entry.sums.add(changeId(entry, paths, health), 'changes', 1, now);
    entry.isNew = false;
    entry.last = paths;
    entry.health = health;
  }

  /** Other settings decide what counts, so earlier changes say nothing about later ones. */
  clear(): void {
    this.#entries.clear();
  }

  /** Objects with recorded changes, those with the most first. */
  report(now: number): readonly ChangedObject[] {
    const found: (ChangedObject & { readonly all: number })[] = [];
    for (const [key, { sums }] of this.#entries) {
      const rows = [...sums.rows(now)];
      const all = rows.reduce((sum, [, { changes }]) => sum + changes, 0);
      const sets = rows.flatMap(([id, { changes }]) => (id === otherKeys ? [] : [{ ...setOf(id), changes }]));
      const unrecorded = all - sets.reduce((sum, { changes }) => sum + changes, 0);
      if (all > 0) found.push({ key, sets, unrecorded, all });
    }
    return found.sort((a, b) => b.all - a.all).map(({ key, sets, unrecorded }) => ({ key, sets, unrecorded }));
  }

  #entryOf(key: ResourceKey, now: number): PathsEntry | undefined {
    const known = this.#entries.get(key);
    if (known !== undefined) return known;
    if (this.#entries.size >= maxObjects) this.#dropIdle(now);
    if (this.#entries.size >= maxObjects) return undefined;
    const sums = new RollingSums<'changes'>(['changes'], oneHour);
    const entry: PathsEntry = { last: undefined, health: '', isNew: true, sums, seenAt: now };
    this.#entries.set(key, entry);
    return entry;
  }

  /** The object that has been quiet for longest makes room. */
  #dropIdle(now: number): void {
    const [oldest] = [...this.#entries].sort(([, a], [, b]) => a.seenAt - b.seenAt);
    if (oldest !== undefined && now - oldest[1].seenAt >= idleMs) this.#entries.delete(oldest[0]);
  }
}

/** Identifies the set of changed paths; {@link otherKeys} if it cannot be kept. */
function changeId(entry: PathsEntry, paths: ReadonlyMap<string, string> | undefined, health: string): string {
  const { last } = entry;
  if (last === undefined || paths === undefined) return otherKeys;
  const changed = new Set<string>();
  for (const [path, hash] of paths) if (last.get(path) !== hash) changed.add(anyItem(path));
  for (const path of last.keys()) if (!paths.has(path)) changed.add(anyItem(path));
  const outermost = [...changed].filter((path) => !hasParentIn(path, changed)).sort();
  const id = `${entry.health === health ? '' : healthMark}${outermost.join('\n')}`;
  return outermost.length === 0 || outermost.length > maxPathsOfSet || id.length > maxSetLength ? otherKeys : id;
}

function hasParentIn(path: string, paths: ReadonlySet<string>): boolean {
  for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1))
    if (paths.has(path.slice(0, end))) return true;
  return false;
}

/** Members are written `/.name`, items `/#index`; without an index the path means any item. */
function anyItem(path: string): string {
  return path.replaceAll(/\/#\d+/g, '/#');
}

function setOf(id: string): Omit<ChangeSet, 'changes'> {
  const changesHealth = id.startsWith(healthMark);
  const paths = (changesHealth ? id.slice(1) : id).split('\n').map(stepsOf);
  return { paths, changesHealth };
}

function stepsOf(path: string): readonly PathStep[] {
  return path
    .slice(1)
    .split('/')
    .map((step) => (step === '#' ? null : unescaped(step.slice(1))));
}

/** Neither the separator of steps nor that of paths may occur in a name. */
function escaped(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1').replaceAll('\n', '~2');
}

function unescaped(name: string): string {
  return name.replaceAll('~2', '\n').replaceAll('~1', '/').replaceAll('~0', '~');
}

/** A hash for every value, map and list by its path; undefined if there are too many. */
function hashedPaths(value: Json): ReadonlyMap<string, string> | undefined {
  const found = new Map<string, string>();
  let [pathsLeft, valuesLeft] = [maxPathsLength, maxValuesLength];
  const stack: [string, Json][] = [['', value]];
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const [path, here] = next;
    const below = childrenOf(path, here);
    const text = below === undefined ? scalarText(here) : '';
    pathsLeft -= path.length;
    valuesLeft -= text.length;
    if (found.size + stack.length + (below?.length ?? 0) > maxPaths || pathsLeft < 0 || valuesLeft < 0)
      return undefined;
    found.set(path, below === undefined ? hashText(text) : Array.isArray(here) ? `#${here.length}` : '.');
    stack.push(...(below ?? []));
  }
  return found;
}

/** Undefined: neither a list nor a map. */
function childrenOf(path: string, value: Json): [string, Json][] | undefined {
  if (Array.isArray(value)) return (value as readonly Json[]).map((item, i) => [`${path}/#${i}`, item]);
  if (!isObject(value)) return undefined;
  return Object.entries(value).flatMap(([name, member]) =>
    member === undefined ? [] : [[`${path}/.${escaped(name)}`, member] as [string, Json]],
  );
}

function scalarText(value: Json): string {
  return typeof value === 'bigint' ? String(value) : JSON.stringify(value);
}
