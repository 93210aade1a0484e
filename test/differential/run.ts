import { deepEqual, defined, messageOf, stringifyJson } from '#base';
import type { Clock, Json } from '#base';
import type { Area, Verdict } from './area.ts';
import { drawOf } from './draw.ts';
import type { Ask } from './oracle.ts';
import { shrinkCase } from './shrink.ts';

interface JudgedCase extends Verdict {
  /** The row of docs/compatibility.md that explains the difference; absent: unknown. */
  readonly row?: string;
}

/** A case whose answers differ. */
export interface Difference extends JudgedCase {
  readonly area: string;
  readonly seed: number;
  readonly index: number;
  readonly input: Json;
}

export interface Tally {
  cases: number;
  /** Draws that made no case. */
  skipped: number;
  readonly known: Map<string, number>;
  unknown: number;
  seconds: number;
  /** Seconds until the first unknown difference. */
  firstAfter: number | undefined;
}

export interface RunLimits {
  /** Monotonic time at which no new case starts. */
  readonly until: number;
  readonly cases: number;
  /** Unknown differences that are shrunk; beyond them only counted. */
  readonly shown: number;
}

/** Cases of one area that are asked at once. */
const inFlight = 48;

/** Plays the cases of one area in the order of their index. */
export class AreaRun {
  readonly tally: Tally = { cases: 0, skipped: 0, known: new Map(), unknown: 0, seconds: 0, firstAfter: undefined };
  readonly #area: Area;
  readonly #seed: number;
  readonly #ask: Ask;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #shapes = new Set<string>();

  constructor(area: Area, seed: number, ask: Ask, clock: Pick<Clock, 'monotonic'>) {
    this.#area = area;
    this.#seed = seed;
    this.#ask = ask;
    this.#clock = clock;
  }

  /** Hands each difference to `keep`; the first unknown ones of their shape are shrunk. */
  async play(from: number, limits: RunLimits, keep: (difference: Difference) => void): Promise<void> {
    const began = this.#clock.monotonic();
    let next = from;
    const worker = async (): Promise<void> => {
      while (this.#clock.monotonic() < limits.until && next < from + limits.cases) {
        const index = next;
        next += 1;
        const difference = await this.playCase(index);
        if (difference === undefined) continue;
        const isNew = difference.row === undefined && this.#count(difference, began);
        const shrinks = isNew && this.#shapes.size <= limits.shown;
        keep(shrinks ? await this.#shrunk(difference, limits.until) : difference);
      }
    };
    await Promise.all(Array.from({ length: inFlight }, worker));
    this.tally.seconds += (this.#clock.monotonic() - began) / 1000;
  }

  /** The difference of one case, undefined if both sides agree. */
  async playCase(index: number): Promise<Difference | undefined> {
    const input = await this.#area.generate(drawOf(this.#seed, this.#area.name, index), this.#ask);
    if (input === undefined) {
      this.tally.skipped += 1;
      return undefined;
    }
    this.tally.cases += 1;
    const judged = await this.judge(input);
    if (judged === undefined) return undefined;
    const { row } = judged;
    if (row !== undefined) this.tally.known.set(row, (this.tally.known.get(row) ?? 0) + 1);
    return { area: this.#area.name, seed: this.#seed, index, input, ...judged };
  }

  /** Both answers if they differ. */
  async judge(input: Json): Promise<JudgedCase | undefined> {
    const answer = await this.#ask(this.#area.oracle ?? this.#area.name, input);
    try {
      const verdict = await this.#area.judge(input, answer);
      if (deepEqual(verdict.ours, verdict.theirs)) return undefined;
      return { ...verdict, ...defined({ row: this.#area.explain(input, verdict, answer) }) };
    } catch (error) {
      return { ours: { threw: messageOf(error) }, theirs: answer.kind === 'result' ? answer.value : { ...answer } };
    }
  }

  /** Counts an unknown difference; true for the first of its shape. */
  #count(difference: Difference, began: number): boolean {
    this.tally.unknown += 1;
    this.tally.firstAfter ??= this.tally.seconds + (this.#clock.monotonic() - began) / 1000;
    const shape = this.#shapeOf(difference.input, difference);
    const isNew = !this.#shapes.has(shape);
    this.#shapes.add(shape);
    return isNew;
  }

  async #shrunk(difference: Difference, until: number): Promise<Difference> {
    const shape = this.#shapeOf(difference.input, difference);
    const input = await shrinkCase(difference.input, async (smaller) => {
      if (this.#clock.monotonic() >= until) return false;
      const judged = await this.judge(smaller);
      return judged !== undefined && judged.row === undefined && this.#shapeOf(smaller, judged) === shape;
    });
    return { ...difference, input, ...(await this.judge(input)) };
  }

  /** Differences of one shape are probably one fault. */
  #shapeOf(input: Json, { ours, theirs }: Verdict): string {
    const sides = [ours, theirs].map((side) => stringifyJson(side).replace(/\d+/g, '0').slice(0, 300));
    return [this.#area.shapeOf?.(input) ?? '', ...sides].join(' | ');
  }
}
