import { DriftlessError } from '#base';

/** A jq program of an ignore rule that cannot be run: not jq, beyond the part of jq that is known here, or too much work. */
export class DiffRulesError extends DriftlessError {
  /** What is the matter, as the end of a sentence about the rule. */
  readonly problem: string;

  constructor(problem: string, cause?: unknown) {
    super('DIFF_RULES', `an ignore rule ${problem}`, { retry: 'never', ...(cause === undefined ? {} : { cause }) });
    this.problem = problem;
  }
}
