import type { AppKey } from '#model';
import { hydrationKeyOf, plainUrl } from './hydrator-spec.ts';
import type { HydratedApplication, HydrationKey } from './hydrator-spec.ts';

/** An entry, with the groups that it was added to. */
interface IndexedApplication {
  readonly one: HydratedApplication;
  readonly group: HydrationKey;
  readonly branch: string;
}

/**
 * The Applications with a source hydrator, of all replicas, by their group and by the branch that
 * they write. The first of a group leads it: its owner hydrates the group.
 */
export class HydrationIndex {
  readonly #entries = new Map<AppKey, IndexedApplication>();
  readonly #groups = new Map<HydrationKey, Set<AppKey>>();
  readonly #branches = new Map<string, Set<AppKey>>();
  /** Sorted keys of a group, until it changes. */
  readonly #sorted = new Map<HydrationKey, readonly AppKey[]>();

  set(one: HydratedApplication): void {
    this.delete(one.key);
    const group = hydrationKeyOf(one);
    const branch = branchKeyOf(one);
    this.#entries.set(one.key, { one, group, branch });
    addTo(this.#groups, group, one.key);
    addTo(this.#branches, branch, one.key);
    this.#sorted.delete(group);
  }

  delete(key: AppKey): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    removeFrom(this.#groups, entry.group, key);
    removeFrom(this.#branches, entry.branch, key);
    this.#sorted.delete(entry.group);
  }

  groupOf(key: AppKey): HydrationKey | undefined {
    return this.#entries.get(key)?.group;
  }

  keys(): Iterable<AppKey> {
    return this.#entries.keys();
  }

  /** The Applications of a group, the leader first. */
  members(group: HydrationKey): readonly AppKey[] {
    let sorted = this.#sorted.get(group);
    if (sorted === undefined) this.#sorted.set(group, (sorted = [...(this.#groups.get(group) ?? [])].sort()));
    return sorted;
  }

  /** All Applications that write to the branch of this one, of any group. */
  sharingBranch(one: HydratedApplication): readonly HydratedApplication[] {
    const keys = this.#branches.get(branchKeyOf(one)) ?? [];
    return [...keys].flatMap((key) => this.#entries.get(key)?.one ?? []);
  }
}

function branchKeyOf({ target }: HydratedApplication): string {
  return JSON.stringify([plainUrl(target.repoURL), target.branch]);
}

function addTo(sets: Map<string, Set<AppKey>>, name: string, key: AppKey): void {
  const set = sets.get(name);
  if (set === undefined) sets.set(name, new Set([key]));
  else set.add(key);
}

function removeFrom(sets: Map<string, Set<AppKey>>, name: string, key: AppKey): void {
  const set = sets.get(name);
  set?.delete(key);
  if (set?.size === 0) sets.delete(name);
}
