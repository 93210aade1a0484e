import { DriftlessError } from '#base';
import type { Application } from '#model';

/** A request to the controller was not made, or has failed; the message says what to do. */
export class OperateError extends DriftlessError {
  constructor(message: string, cause?: unknown) {
    super('OPERATE', message, { retry: 'never', ...(cause === undefined ? {} : { cause }) });
  }
}

/** NAMESPACE/NAME. */
export function nameOf({ metadata: { namespace = '', name = '' } }: Pick<Application, 'metadata'>): string {
  return `${namespace}/${name}`;
}
