/** The last value that was made of an object, for as long as everything that it follows from besides is the very same, and the object is held by somebody. */
export class Remembered<K extends object, V> {
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
