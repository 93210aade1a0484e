import { createHash } from 'node:crypto';
import { EnvHttpProxyAgent, interceptors, request } from 'undici';
import { DriftlessError, splitUserInfo } from '#base';
import { archiveFiles } from '#desired';
import type { FolderBounds, LocalFile } from '#desired';

const maxRedirects = 10;

export const sourceBounds: FolderBounds = { bytes: 256 * 1024 * 1024, files: 100_000 };

/**
 * The files of a tar archive.
 * @param digest "" accepts any.
 * @throws DriftlessError if its digest is another one, or if it is unsafe or too large.
 */
export async function readArchive(packed: Uint8Array, digest: string): Promise<readonly LocalFile[]> {
  const actual = `sha256:${createHash('sha256').update(packed).digest('hex')}`;
  if (digest !== '' && actual !== digest)
    throw new DriftlessError(
      'AGENT_DIGEST',
      `the archive has the digest ${actual}, not ${digest}: nothing was applied`,
      {
        retry: 'never',
      },
    );
  const files = await archiveFiles(packed, {
    maxCheckoutBytes: sourceBounds.bytes,
    maxCheckoutFiles: sourceBounds.files,
  });
  return files.map(({ path, isLink, content }) => ({ path, mode: isLink ? '120000' : '100644', content }));
}

/** An address without user, password and query, which may hold a signature. */
export function shownUrl(url: string): string {
  return splitUserInfo(url).url.replace(/[?#].*$/, '');
}

export interface DownloadOptions {
  /** ETag of the content that is known, or "". */
  readonly etag: string;
  /** A redirect may lead to a server that others control. */
  readonly allowsRedirects: boolean;
}

export interface Download {
  readonly content: Uint8Array;
  /** "" if the server sends none. */
  readonly etag: string;
}

/**
 * Downloads an archive of at most `sourceBounds.bytes`, through the proxy of the environment.
 * @returns undefined if the content is still the known one.
 */
export async function download(
  url: string,
  { etag, allowsRedirects }: DownloadOptions,
  signal: AbortSignal,
): Promise<Download | undefined> {
  const dispatcher = new EnvHttpProxyAgent();
  try {
    const { statusCode, headers, body } = await request(url, {
      signal,
      headers: etag === '' ? {} : { 'if-none-match': etag },
      dispatcher: dispatcher.compose(interceptors.redirect({ maxRedirections: allowsRedirects ? maxRedirects : 0 })),
    });
    if (statusCode === 304 && etag !== '') return undefined;
    if (statusCode !== 200)
      throw new DriftlessError('AGENT_ARCHIVE', `${shownUrl(url)} answered ${statusCode}${adviceFor(statusCode)}`, {
        retry: 'backoff',
      });
    const { etag: sent } = headers;
    return { content: await boundedBody(url, body), etag: typeof sent === 'string' ? sent : '' };
  } finally {
    await dispatcher.destroy();
  }
}

function adviceFor(statusCode: number): string {
  return statusCode >= 301 && statusCode <= 308 ? ': redirects are followed with --digest only' : '';
}

async function boundedBody(url: string, body: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > sourceBounds.bytes)
      throw new DriftlessError('AGENT_ARCHIVE', `${shownUrl(url)} has more than ${sourceBounds.bytes} bytes`, {
        retry: 'never',
      });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
