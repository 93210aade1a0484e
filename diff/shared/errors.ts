import { DriftlessError } from '#base';

/**
 * An ignore rule that cannot be run: a syntax error, an unsupported feature of jq, or too much
 * work.
 */
export class DiffRulesError extends DriftlessError {
  /** The problem, phrased as the end of a sentence about the rule. */
  readonly problem: string;

  constructor(problem: string, cause?: unknown) {
    super('DIFF_RULES', `an ignore rule ${problem}`, { retry: 'never', ...(cause === undefined ? {} : { cause }) });
    this.problem = problem;
  }
}
