import { createHash } from 'node:crypto';
import { posix } from 'node:path';
import { stringifyJson } from '#base';
import { SizeLimitExceeded, UnsafeInput } from '../errors.ts';
import { metadataJson, metadataOf } from './dry-commit.ts';
import type { HydratorMetadata } from './dry-commit.ts';
import { writeManifests } from './go-yaml.ts';
import type { HydrationCommit } from './types.ts';

/** A file of the commit. */
export interface BranchFile {
  readonly path: string;
  readonly mode: '100644' | '100755';
  readonly content: string;
}

/** The manifests of one path, and the files that are written beside them if they change. */
export interface PathFiles {
  readonly path: string;
  readonly manifest: BranchFile;
  readonly others: readonly BranchFile[];
}

/**
 * The files of a commit, in the layout of Argo CD's commit server.
 * @throws SizeLimitExceeded, UnsafeInput
 */
export function filesOf(
  request: HydrationCommit,
  { maxCommitBytes, readmes }: { readonly maxCommitBytes: number; readonly readmes: readonly string[] },
): { readonly root: BranchFile; readonly paths: readonly PathFiles[] } {
  const { dryUrl, drySha, dryCommit } = request;
  const root = metadataFile('', metadataOf(dryUrl, drySha, dryCommit));
  let total = 0;
  const paths = request.paths.map(({ path, objects, commands }, i) => {
    const clean = checkedPath(path);
    const content = writeManifests(objects);
    total += Buffer.byteLength(content);
    if (total > maxCommitBytes)
      throw new SizeLimitExceeded(`the hydrated manifests have more than ${maxCommitBytes} bytes`);
    const metadata = pathMetadata(request, commands);
    const readme = { path: `${clean}/README.md`, mode: '100644', content: readmes[i] ?? '' } as const;
    return {
      path: clean,
      // Argo CD's file is executable; another mode would be a change for it.
      manifest: { path: `${clean}/manifest.yaml`, mode: '100755', content } as const,
      others: [metadataFile(`${clean}/`, metadata), readme],
    };
  });
  return { root, paths };
}

/** The record of the dry commit in each path. */
export function pathMetadata(
  { dryUrl, drySha }: Pick<HydrationCommit, 'dryUrl' | 'drySha'>,
  commands: readonly string[],
): HydratorMetadata {
  return { repoURL: dryUrl, drySha, commands };
}

/** Written to the root of the branch, if it has none. */
export const gitAttributes: BranchFile = {
  path: '.gitattributes',
  mode: '100644',
  content: '**/README.md linguist-generated=true\n**/hydrator.metadata linguist-generated=true',
};

function metadataFile(prefix: string, metadata: HydratorMetadata): BranchFile {
  const content = `${stringifyJson(metadataJson(metadata), 2)}\n`;
  return { path: `${prefix}hydrator.metadata`, mode: '100644', content };
}

/**
 * The path of a folder without `.` and double slashes. Undefined if it is refused: the root, a path
 * out of the branch or into `.git`, and characters that other systems read differently.
 */
export function branchFolder(path: string): string | undefined {
  const clean = posix.normalize(path).replace(/\/+$/, '');
  const isRoot = clean === '' || clean === '.' || path.startsWith('/');
  const isRefused = path.split('/').some((part) => part === '..' || /^\.git$/i.test(part));
  return isRoot || isRefused || /[\u0000-\u001f\u007f\\]/.test(path) ? undefined : clean;
}

function checkedPath(path: string): string {
  const folder = branchFolder(path);
  if (folder !== undefined) return folder;
  throw new UnsafeInput(
    `the path ${JSON.stringify(path)} is refused: hydrate to a folder below the root of the branch`,
  );
}

/** The folders above a path: `a`, `a/b` for `a/b`. */
export function foldersOf(path: string): readonly string[] {
  const parts = path.split('/');
  return parts.map((_, i) => parts.slice(0, i + 1).join('/'));
}

/** The object ID of a blob, in the hash of the repository. */
export function blobIdOf(content: string, hash: 'sha1' | 'sha256'): string {
  const bytes = Buffer.from(content, 'utf8');
  return createHash(hash).update(`blob ${bytes.length}\0`).update(bytes).digest('hex');
}

/**
 * Refuses a branch that git would refuse, or that could be taken for an option.
 * @throws UnsafeInput
 */
export function checkBranch(branch: string): string {
  const isValid =
    branch !== '' &&
    branch.length <= 512 &&
    branch !== 'HEAD' &&
    !/[\u0000-\u0020\u007f~^:?*[\\]|\.\.|@\{|\/\/|^[-/]|[/.]$/.test(branch) &&
    !branch.split('/').some((part) => part.startsWith('.') || part.endsWith('.lock')) &&
    !branch.startsWith('refs/');
  if (isValid) return branch;
  throw new UnsafeInput(`the branch ${JSON.stringify(branch)} is refused: it is not a valid name of a Git branch`);
}
