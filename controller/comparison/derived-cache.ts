/** Caches one value per object (weakly), valid while all other inputs are identical. */
export class DerivedCache<K extends object, V> {
  readonly #values = new WeakMap<K, { readonly premises: readonly unknown[]; readonly value: V }>();

  of(key: K, premises: readonly unknown[], make: () => V): V {
    const known = this.#values.get(key);
    const isSame = known?.premises.length === premises.length && known.premises.every((one, i) => one === premises[i]);
    if (isSame) return known.value;
    const value = make();
    this.#values.set(key, { premises, value });
    return value;
  }
}
