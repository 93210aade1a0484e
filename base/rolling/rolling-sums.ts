interface SumSlice {
  readonly from: number;
  /** One number per field, by key. */
  readonly sums: Map<string, number[]>;
}

export interface RollingWindow {
  readonly sliceMs: number;
  readonly slices: number;
  /** Keys of one slice; further ones are counted together under {@link otherKeys}. */
  readonly maxKeys: number;
}

/** The key of everything beyond the maximum. */
export const otherKeys = '';

/** An hour in six slices: the sums are those of the last 50 to 60 minutes. */
export const lastHour: RollingWindow = { sliceMs: 600_000, slices: 6, maxKeys: 20_000 };

/** Sums by key and field over a sliding window, in bounded memory. An add takes constant time. */
export class RollingSums<Field extends string> {
  readonly #fields: readonly Field[];
  readonly #window: RollingWindow;
  #slices: SumSlice[] = [];

  constructor(fields: readonly Field[], window: RollingWindow = lastHour) {
    this.#fields = fields;
    this.#window = window;
  }

  /** @param now milliseconds of one clock that does not go back */
  add(key: string, field: Field, amount: number, now: number): void {
    const { sums } = this.#sliceAt(now);
    const isKnown = sums.has(key) || sums.size < this.#window.maxKeys;
    const name = isKnown ? key : otherKeys;
    let row = sums.get(name);
    if (row === undefined) sums.set(name, (row = this.#fields.map(() => 0)));
    const at = this.#fields.indexOf(field);
    row[at] = (row[at] ?? 0) + amount;
  }

  /** Sums of all keys that have any. */
  rows(now: number): ReadonlyMap<string, Readonly<Record<Field, number>>> {
    this.#dropOld(now);
    const totals = new Map<string, number[]>();
    for (const { sums } of this.#slices)
      for (const [key, row] of sums) {
        const before = totals.get(key);
        totals.set(key, before === undefined ? [...row] : before.map((sum, i) => sum + (row[i] ?? 0)));
      }
    return new Map([...totals].map(([key, row]) => [key, this.#named(row)]));
  }

  row(key: string, now: number): Readonly<Record<Field, number>> {
    this.#dropOld(now);
    const found = this.#slices.flatMap(({ sums }) => [sums.get(key) ?? []]);
    return this.#named(this.#fields.map((_, i) => found.reduce((sum, row) => sum + (row[i] ?? 0), 0)));
  }

  /** How much time the sums cover, at most the window. */
  coveredMs(now: number): number {
    this.#dropOld(now);
    const [oldest] = this.#slices;
    return oldest === undefined ? 0 : now - oldest.from;
  }

  #named(row: readonly number[]): Readonly<Record<Field, number>> {
    return Object.fromEntries(this.#fields.map((field, i) => [field, row[i] ?? 0])) as Record<Field, number>;
  }

  #sliceAt(now: number): SumSlice {
    const last = this.#slices.at(-1);
    if (last !== undefined && now < last.from + this.#window.sliceMs) return last;
    const from = last === undefined ? now : now - ((now - last.from) % this.#window.sliceMs);
    const slice = { from, sums: new Map<string, number[]>() };
    this.#slices.push(slice);
    this.#dropOld(now);
    return slice;
  }

  #dropOld(now: number): void {
    const { sliceMs, slices } = this.#window;
    const oldest = now - sliceMs * slices;
    if ((this.#slices[0]?.from ?? now) <= oldest) this.#slices = this.#slices.filter(({ from }) => from > oldest);
  }
}
