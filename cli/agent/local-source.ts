import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { lstat, mkdir, readdir, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { EnvHttpProxyAgent, interceptors, request } from 'undici';
import { DriftlessError, messageOf, outsideText, splitUserInfo, UsageError } from '#base';
import { archiveFiles } from '#desired';

/** One file of a local source. */
export interface SourceFile {
  /** Path with slashes, relative to the root. */
  readonly path: string;
  readonly mode: '100644' | '100755' | '120000';
  /** For a link, its target. */
  readonly content: Uint8Array;
}

export interface SourceBounds {
  readonly bytes: number;
  readonly files: number;
}

const maxRedirects = 10;

export const sourceBounds: SourceBounds = { bytes: 256 * 1024 * 1024, files: 100_000 };

/**
 * The files of a directory, without those of Git, in the order of their paths.
 * @throws UsageError if it cannot be read or is too large.
 */
export async function readDirectory(root: string, bounds: SourceBounds = sourceBounds): Promise<readonly SourceFile[]> {
  const files: SourceFile[] = [];
  let bytes = 0;
  const visit = async (folder: string): Promise<void> => {
    const names = (await readdir(join(root, folder))).filter((name) => name !== '.git').sort();
    for (const name of names) {
      const path = folder === '' ? name : `${folder}/${name}`;
      const found = await lstat(join(root, path));
      if (found.isDirectory()) await visit(path);
      if (!found.isFile() && !found.isSymbolicLink()) continue;
      bytes += found.size;
      if (bytes > bounds.bytes || files.length >= bounds.files)
        throw new UsageError(
          `${root} has more than ${bounds.files} files or ${bounds.bytes} bytes: name a smaller folder`,
        );
      files.push(await sourceFile(join(root, path), path, found));
    }
  };
  try {
    await visit('');
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`cannot read the directory ${root}: ${messageOf(error)}`, { cause: error });
  }
  return files;
}

async function sourceFile(
  full: string,
  path: string,
  found: { readonly mode: number; isSymbolicLink(): boolean },
): Promise<SourceFile> {
  if (found.isSymbolicLink()) return { path, mode: '120000', content: Buffer.from(await readlink(full)) };
  return { path, mode: (found.mode & 0o111) === 0 ? '100644' : '100755', content: await readFile(full) };
}

/**
 * The files of a tar archive.
 * @throws DriftlessError if its digest is another one, or if it is unsafe or too large.
 */
export async function readArchive(packed: Uint8Array, digest: string): Promise<readonly SourceFile[]> {
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

/**
 * Makes a bare repository with one commit of these files on `main`. The same files give the same
 * commit, so that nothing is rendered again.
 */
export async function commitFiles(folder: string, files: readonly SourceFile[], signal: AbortSignal): Promise<void> {
  await mkdir(folder, { recursive: true });
  await git(['init', '--quiet', '--bare', '--initial-branch=main', folder], '', signal);
  await git(
    ['--git-dir', folder, 'fast-import', '--quiet', '--force'],
    Buffer.concat([...importStream(files)]),
    signal,
  );
}

function* importStream(files: readonly SourceFile[]): Generator<Buffer> {
  const author = 'driftless-agent <agent@driftless.invalid> 0 +0000';
  yield Buffer.from(`commit refs/heads/main\nauthor ${author}\ncommitter ${author}\ndata 8\nsnapshot\ndeleteall\n`);
  for (const { path, mode, content } of files) {
    yield Buffer.from(`M ${mode} inline ${quoted(path)}\ndata ${content.length}\n`);
    yield Buffer.from(content);
    yield Buffer.from('\n');
  }
  yield Buffer.from('done\n');
}

/** A path as fast-import reads it, whatever characters it has. */
function quoted(path: string): string {
  return `"${path.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`;
}

function git(args: readonly string[], input: string | Buffer, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn('git', args, { signal, stdio: ['pipe', 'ignore', 'pipe'] });
    let errors = '';
    child.stderr.on('data', (chunk: Buffer) => {
      errors = `${errors}${chunk.toString()}`.slice(0, 2000);
    });
    child.on('error', reject);
    child.on('close', (code) => {
      if (code === 0) resolve();
      else reject(new DriftlessError('AGENT_GIT', `git ${args.at(-1) ?? ''}: ${outsideText('program', errors)}`));
    });
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
  });
}
