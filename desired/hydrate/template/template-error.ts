import { DesiredError } from '../../errors.ts';

/** A template that is malformed, fails, or exceeds a limit. */
export class TemplateError extends DesiredError {
  constructor(message: string) {
    super('DESIRED_TEMPLATE', message);
  }
}
