import type { StoredNode } from './node.ts';

/** Nodes by some property. A key with one node, the common case, costs no set. */
export class NodeIndex<K> {
  readonly #entries = new Map<K, StoredNode | Set<StoredNode>>();

  add(key: K, node: StoredNode): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) this.#entries.set(key, node);
    else if (entry instanceof Set) entry.add(node);
    else if (entry !== node) this.#entries.set(key, new Set([entry, node]));
  }

  drop(key: K, node: StoredNode): void {
    const entry = this.#entries.get(key);
    if (entry === node) this.#entries.delete(key);
    else if (entry instanceof Set) {
      entry.delete(node);
      if (entry.size === 0) this.#entries.delete(key);
    }
  }

  /** In order of arrival. Do not change the index while iterating. */
  of(key: K): Iterable<StoredNode> {
    const entry = this.#entries.get(key);
    if (entry === undefined) return [];
    return entry instanceof Set ? entry : [entry];
  }

  count(key: K): number {
    const entry = this.#entries.get(key);
    if (entry === undefined) return 0;
    return entry instanceof Set ? entry.size : 1;
  }
}
