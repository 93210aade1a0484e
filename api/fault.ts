import { defined, DriftlessError } from '#base';
import { apiVersion } from './types.ts';
import type { ApiError, ApiErrorReason } from './types.ts';

/** A request that is not answered, with the HTTP status that says so. */
export class ApiFault extends DriftlessError {
  readonly status: number;
  readonly reason: ApiErrorReason | undefined;

  constructor(status: number, message: string, more: { readonly reason?: ApiErrorReason } & ErrorOptions = {}) {
    const { reason, ...options } = more;
    super('API', message, { retry: 'never', ...options });
    this.status = status;
    this.reason = reason;
  }
}

export function errorBody(code: number, message: string, reason?: ApiErrorReason): ApiError {
  return { apiVersion, kind: 'Error', code, message, ...defined({ reason }) };
}
