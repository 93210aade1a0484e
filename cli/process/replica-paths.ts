import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';

/** Hostname and cache directory of this replica where flags and environment leave them empty. */
export function ownNames(config: { readonly hostname: string; readonly cacheDir: string }): {
  readonly hostname: string;
  readonly cacheDir: string;
} {
  const host = config.hostname === '' ? hostname() : config.hostname;
  return { hostname: host, cacheDir: config.cacheDir === '' ? join(tmpdir(), 'driftless', host) : config.cacheDir };
}

export function debugSocketOf(config: { readonly debugSocket: string; readonly cacheDir: string }): string {
  return config.debugSocket === '' ? join(config.cacheDir, 'debug', 'state.sock') : config.debugSocket;
}
