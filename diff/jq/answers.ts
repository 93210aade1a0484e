import { hashJson } from '#base';
import type { Json } from '#base';

/** A jq program that our evaluator does not support, and its input. */
export interface JqQuestion {
  readonly key: string;
  readonly program: string;
  readonly input: Json;
}

/**
 * The paths that the program selects, as jq's `path` prints them (none if it fails as jq programs
 * do), or why that is unknown, phrased as the end of a sentence about the rule. A `transient`
 * problem may disappear with the next try, such as a busy machine.
 */
export type JqAnswer = { readonly paths: readonly Json[] } | { readonly problem: string; readonly transient?: true };

/**
 * Answers for programs that need real jq. A comparison records open questions and continues
 * without them; the caller has them answered and compares again until none is open. So comparisons
 * stay pure functions, and the event loop is never blocked.
 */
export class JqAnswers {
  readonly #answers = new Map<string, JqAnswer>();
  readonly #open = new Map<string, JqQuestion>();
  #asked = 0;

  /** Returns undefined if the answer is not known yet, and records the question as open. */
  answerTo(program: string, input: Json): JqAnswer | undefined {
    const key = `${hashJson(input)} ${program}`;
    const known = this.#answers.get(key);
    if (known !== undefined) {
      if ('problem' in known && known.transient === true) this.#asked += 1;
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

  openQuestions(): readonly JqQuestion[] {
    return [...this.#open.values()];
  }

  /** How many questions had no answer, or only a transient one. */
  get unansweredCount(): number {
    return this.#asked;
  }
}
