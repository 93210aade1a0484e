import { spawn } from 'node:child_process';
import { lstat, mkdir, readdir, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf, outsideText } from '#base';
import { RepositoryError, SizeLimitExceeded, SourcePathError } from './errors.ts';

/** One file of a folder of this machine. */
export interface LocalFile {
  /** Path with slashes, relative to the root. */
  readonly path: string;
  readonly mode: '100644' | '100755' | '120000';
  /** For a link, its target. */
  readonly content: Uint8Array;
}

export interface FolderBounds {
  readonly bytes: number;
  readonly files: number;
}

/**
 * The files of a directory, without those of Git, in the order of their paths.
 * @throws SourcePathError if it is missing or changes while it is read; SizeLimitExceeded.
 */
export async function readDirectory(root: string, bounds: FolderBounds): Promise<readonly LocalFile[]> {
  const files: LocalFile[] = [];
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
        throw new SizeLimitExceeded(
          `${root} has more than ${bounds.files} files or ${bounds.bytes} bytes: name a smaller folder`,
        );
      files.push(await localFile(join(root, path), path, found));
    }
  };
  try {
    await visit('');
  } catch (error) {
    if (error instanceof SizeLimitExceeded) throw error;
    throw new SourcePathError(`cannot read the directory ${root}: ${messageOf(error)}`, error);
  }
  return files;
}

async function localFile(
  full: string,
  path: string,
  found: { readonly mode: number; isSymbolicLink(): boolean },
): Promise<LocalFile> {
  if (found.isSymbolicLink()) return { path, mode: '120000', content: Buffer.from(await readlink(full)) };
  return { path, mode: (found.mode & 0o111) === 0 ? '100644' : '100755', content: await readFile(full) };
}

/**
 * Makes a bare repository with one commit of these files on `main`. The same files give the same
 * commit, so that nothing is rendered again.
 */
export async function commitFiles(folder: string, files: readonly LocalFile[], signal: AbortSignal): Promise<void> {
  await mkdir(folder, { recursive: true });
  await git(['init', '--quiet', '--bare', '--initial-branch=main', folder], '', signal);
  await git(
    ['--git-dir', folder, 'fast-import', '--quiet', '--force'],
    Buffer.concat([...importStream(files)]),
    signal,
  );
}

function* importStream(files: readonly LocalFile[]): Generator<Buffer> {
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
      else reject(new RepositoryError(`git ${args.at(-1) ?? ''}: ${outsideText('program', errors)}`));
    });
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
  });
}
