import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { UsageError, messageOf } from '#base';

/** A file of the page, with all of its headers but length and encoding. */
export interface DashboardFile {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly gzip: Buffer;
}

export type DashboardFiles = (path: string) => DashboardFile | undefined;

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Nothing is loaded from elsewhere, nothing inline runs, and no other page may frame this one. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ');

const headers: Readonly<Record<string, string>> = {
  'content-security-policy': contentSecurityPolicy,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
};

/**
 * Reads the built page once; its files are few and small. Names of assets contain a hash of their
 * content, so that browsers keep them.
 * @throws UsageError if the page was not built
 */
export function dashboardFiles(folder: string): DashboardFiles {
  const files = new Map<string, DashboardFile>();
  try {
    for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
      const type = types[extname(name)];
      if (type === undefined) continue;
      const body = readFileSync(join(folder, name));
      const isPage = name === 'index.html';
      const caching = isPage ? 'no-cache' : 'public, max-age=31536000, immutable';
      const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
      const file = {
        headers: { ...headers, 'content-type': type, 'cache-control': caching, etag },
        body,
        gzip: gzipSync(body, { level: 9 }),
      };
      files.set(isPage ? '/' : `/${name.replaceAll('\\', '/')}`, file);
    }
  } catch (error) {
    throw new UsageError(`the dashboard is not built in ${folder}: run npm run build (${messageOf(error)})`);
  }
  if (!files.has('/')) throw new UsageError(`the dashboard is not built in ${folder}: run npm run build`);
  return (path) => files.get(path);
}
