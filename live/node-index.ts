import type { StoredNode } from './node.ts';

/**
 * Nodes by some property that each may have several of. A key with one node, the common case, costs no list, and one with few no set.
 */
export class NodeIndex<K> {
  readonly #entries = new Map<K, StoredNode | StoredNode[] | Set<StoredNode>>();

  add(key: K, node: StoredNode): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) this.#entries.set(key, node);
    else if (entry instanceof Set) entry.add(node);
    else if (!Array.isArray(entry)) {
      if (entry !== node) this.#entries.set(key, [entry, node]);
    } else if (!entry.includes(node)) {
      if (entry.length < mostInList) entry.push(node);
      else this.#entries.set(key, new Set([...entry, node]));
    }
  }

  drop(key: K, node: StoredNode): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    if (entry === node) this.#entries.delete(key);
    else if (entry instanceof Set) {
      entry.delete(node);
      if (entry.size === 0) this.#entries.delete(key);
    } else if (Array.isArray(entry)) {
      const at = entry.indexOf(node);
      if (at >= 0) entry.splice(at, 1);
      if (entry.length === 0) this.#entries.delete(key);
    }
  }

  /** In order of arrival. Do not change the index while iterating. */
  of(key: K): Iterable<StoredNode> {
    const entry = this.#entries.get(key);
    if (entry === undefined) return [];
    return entry instanceof Set || Array.isArray(entry) ? entry : [entry];
  }
}

/** To look through so many is as fast as to find one in a set. */
const mostInList = 12;
