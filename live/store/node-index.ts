import type { StoredNode } from '../objects/stored-node.ts';

/**
 * A multi-index: a node may have several keys. Most keys have one node, stored without a list; a
 * few nodes are stored in an array, more in a set.
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
      if (entry.length < maxListLength) entry.push(node);
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

  /** In insertion order. Do not modify the index while iterating. */
  of(key: K): Iterable<StoredNode> {
    const entry = this.#entries.get(key);
    if (entry === undefined) return [];
    return entry instanceof Set || Array.isArray(entry) ? entry : [entry];
  }
}

/** Up to this length a linear search is as fast as a set. */
const maxListLength = 12;
