import { hashJson } from '#base';
import type { Json } from '#base';

/** A jq program that is beyond what is evaluated here, and what it is to be run on. */
export interface JqQuestion {
  readonly key: string;
  readonly program: string;
  readonly input: Json;
}

/**
 * What the program came to: the places that it names, as jq's `path` gives them, none where it fails as jq programs fail; or why nobody can tell, as
 * the end of a sentence about it. Of one that is `passing` jq may say more another time: the machine may have been too busy.
 */
export type JqAnswer = { readonly paths: readonly Json[] } | { readonly problem: string; readonly passing?: true };

/**
 * What jq says, for programs that only jq can run. A comparison asks here, and goes on without them; whoever compares has the open questions answered
 * and compares again, until none is open. So the comparison stays a function of values, and the event loop is never held up.
 */
export class JqAnswers {
  readonly #answers = new Map<string, JqAnswer>();
  readonly #open = new Map<string, JqQuestion>();
  #asked = 0;

  /** Undefined: not known yet; it is an open question from now on. */
  of(program: string, input: Json): JqAnswer | undefined {
    const key = `${hashJson(input)} ${program}`;
    const known = this.#answers.get(key);
    if (known !== undefined) {
      if ('problem' in known && known.passing === true) this.#asked += 1;
      return known;
    }
    this.#open.set(key, { key, program, input });
    this.#asked += 1;
    return undefined;
  }

  put(key: string, answer: JqAnswer): void {
    this.#answers.set(key, answer);
    this.#open.delete(key);
  }

  open(): readonly JqQuestion[] {
    return [...this.#open.values()];
  }

  /** How often something was asked that was not known, or not for good. */
  get asked(): number {
    return this.#asked;
  }
}
