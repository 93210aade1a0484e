import { hashText, seededRandom } from '#base';
import type { RandomSource } from '#base';

/** Random choices of one case. Equal seeds give equal choices. */
export class Draw {
  readonly #random: RandomSource;
  /** Mutations of this case keep the types of values, as most mistakes do. */
  readonly keepsTypes: boolean;

  constructor(random: RandomSource) {
    this.#random = random;
    this.keepsTypes = this.chance(0.85);
  }

  /** A whole number from 0 to `count - 1`. */
  below(count: number): number {
    return Math.floor(this.#random.next() * count);
  }

  chance(probability: number): boolean {
    return this.#random.next() < probability;
  }

  pick<T>(list: readonly T[]): T {
    if (list.length === 0) throw new RangeError('there is nothing to pick from');
    return list[this.below(list.length)] as T;
  }

  /** Between `least` and `most` values. */
  some<T>([least, most]: readonly [least: number, most: number], make: (index: number) => T): T[] {
    return Array.from({ length: least + this.below(most - least + 1) }, (_, i) => make(i));
  }

  /** A value or nothing. */
  maybe<T>(probability: number, make: () => T): T | undefined {
    return this.chance(probability) ? make() : undefined;
  }
}

/** The choices of case `index`: it can be repeated without those before it. */
export function drawOf(seed: number, area: string, index: number): Draw {
  return new Draw(seededRandom(Number.parseInt(hashText(`${seed} ${area} ${index}`).slice(0, 8), 16)));
}
