import { randomFillSync } from 'node:crypto';

/** The only source of randomness, so that a run can be repeated from its seed. */
export interface RandomSource {
  /** Uniform in [0, 1). */
  next(): number;
  /**
   * `length` lower-case letters and digits without vowels and look-alikes, as in Kubernetes' name
   * suffixes.
   */
  suffix(length: number): string;
  /** A version 4 UUID. */
  uuid(): string;
}

const suffixAlphabet = 'bcdfghjklmnpqrstvwxz2456789';

class SourcedRandom implements RandomSource {
  readonly #next: () => number;

  constructor(next: () => number) {
    this.#next = next;
  }

  next(): number {
    return this.#next();
  }

  suffix(length: number): string {
    let text = '';
    for (let i = 0; i < length; i += 1) text += suffixAlphabet[Math.floor(this.#next() * suffixAlphabet.length)] ?? 'x';
    return text;
  }

  uuid(): string {
    const hex = Array.from({ length: 32 }, () => Math.floor(this.#next() * 16).toString(16));
    hex[12] = '4';
    hex[16] = (8 + Math.floor(this.#next() * 4)).toString(16);
    const part = (from: number, to: number): string => hex.slice(from, to).join('');
    return `${part(0, 8)}-${part(8, 12)}-${part(12, 16)}-${part(16, 20)}-${part(20, 32)}`;
  }
}

const bytesOfNumber = 6;
/** Numbers that are read from the operating system at once: each read costs microseconds. */
const poolSize = 256;

function pooledNumbers(): () => number {
  const pool = Buffer.alloc(poolSize * bytesOfNumber);
  let at = pool.length;
  return () => {
    if (at === pool.length) {
      randomFillSync(pool);
      at = 0;
    }
    at += bytesOfNumber;
    return pool.readUIntBE(at - bytesOfNumber, bytesOfNumber) / 2 ** (8 * bytesOfNumber);
  };
}

/** Cryptographic randomness from the operating system. */
export const systemRandom: RandomSource = new SourcedRandom(pooledNumbers());

/** Repeatable randomness: equal seeds give equal sequences on every machine (mulberry32). */
export function seededRandom(seed: number): RandomSource {
  let state = seed >>> 0;
  return new SourcedRandom(() => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  });
}
