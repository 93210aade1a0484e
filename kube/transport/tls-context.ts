import { createSecureContext } from 'node:tls';
import { defined } from '#base';
import type { TlsOptions } from './http-types.ts';

/**
 * Parses the certificates once for all connections of a lane, instead of once for each. Broken ones
 * are left alone: each connection then reports the error, as its own.
 */
export function withSharedContext(tls: TlsOptions): TlsOptions {
  const { ca, cert, key } = tls;
  try {
    return { ...tls, secureContext: createSecureContext(defined({ ca, cert, key })) };
  } catch {
    return tls;
  }
}
