import { DesiredError } from '../../errors.ts';

/** A template that is malformed, fails, or uses what this engine does not know. */
export class TemplateError extends DesiredError {
  constructor(message: string) {
    super('DESIRED_TEMPLATE', message);
  }
}
