import { DriftlessError } from '#base';

/** An ignore rule that cannot be understood. The message names the rule; the comparison cannot be trusted without it. */
export class DiffRulesError extends DriftlessError {
  constructor(message: string, cause?: unknown) {
    super('DIFF_RULES', message, { retry: 'never', ...(cause === undefined ? {} : { cause }) });
  }
}
