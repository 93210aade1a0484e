import { DriftlessError } from '#base';
import { apiVersion } from './types.ts';
import type { ApiError } from './types.ts';

/** A request that is not answered, with the HTTP status that says so. */
export class ApiFault extends DriftlessError {
  readonly status: number;

  constructor(status: number, message: string, cause?: unknown) {
    super('API', message, { retry: 'never', ...(cause === undefined ? {} : { cause }) });
    this.status = status;
  }
}

export function errorBody(code: number, message: string): ApiError {
  return { apiVersion, kind: 'Error', code, message };
}
