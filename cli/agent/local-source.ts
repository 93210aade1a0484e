import { createHash } from 'node:crypto';
import { EnvHttpProxyAgent, interceptors, request } from 'undici';
import { DriftlessError, splitUserInfo } from '#base';
import { archiveFiles } from '#desired';
import type { FolderBounds, LocalFile } from '#desired';

const maxRedirects = 10;

export const sourceBounds: FolderBounds = { bytes: 256 * 1024 * 1024, files: 100_000 };

/**
 * The files of a tar archive.
 * @throws DriftlessError if its digest is another one, or if it is unsafe or too large.
 */
export async function readArchive(packed: Uint8Array, digest: string): Promise<readonly LocalFile[]> {
  const actual = `sha256:${createHash('sha256').update(packed).digest('hex')}`;
  if (actual !== digest)
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

/** Downloads an archive of at most `sourceBounds.bytes`, through the proxy of the environment. */
export async function download(url: string, signal: AbortSignal): Promise<Uint8Array> {
  const dispatcher = new EnvHttpProxyAgent();
  try {
    const { statusCode, body } = await request(url, {
      signal,
      dispatcher: dispatcher.compose(interceptors.redirect({ maxRedirections: maxRedirects })),
    });
    if (statusCode !== 200)
      throw new DriftlessError('AGENT_ARCHIVE', `${shownUrl(url)} answered ${statusCode}`, { retry: 'backoff' });
    return await boundedBody(url, body);
  } finally {
    await dispatcher.destroy();
  }
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
