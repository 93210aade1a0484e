import { DesiredError, SourcePathError } from '../../errors.ts';
import type { DirectoryNode, FileNode, SubmoduleNode, Tree } from './tree.ts';

/** The files of one revision, whatever their source. They are not on disk. */
export interface Snapshot {
  /** Identifies repository and credentials: content must not be shared across credentials. */
  readonly key: string;
  /** A commit, or the version of a chart. */
  readonly revision: string;
  readonly tree: Tree;
  /**
   * Reads the content of files, keyed by object id.
   * @param near where further reads may follow: small files there may be read as well and kept
   */
  read(
    blobs: readonly { readonly oid: string; readonly size: number }[],
    signal: AbortSignal,
    near?: ReadsNear,
  ): Promise<ReadonlyMap<string, Uint8Array>>;
  /** Memory that reading the files takes. Absent: their sizes. */
  measure?(blobs: readonly { readonly oid: string; readonly size: number }[], signal: AbortSignal): Promise<number>;
  /**
   * Runs the body with a `.git` directory that has this commit alone, and exists until the body
   * ends. Absent: the files do not come from Git.
   */
  withGitFolder?<T>(signal: AbortSignal, body: (folder: GitFolder) => Promise<T>): Promise<T>;
}

/** A folder in and around which further reads may follow. */
export interface ReadsNear {
  readonly folder: readonly string[];
  /** The files decide which others a source needs, so further reads will follow. */
  readonly areDeciding: boolean;
}

/** A directory on disk with the content of `.git`. */
export interface GitFolder {
  readonly path: string;
  /** The size of all its files. */
  readonly bytes: number;
}

/**
 * The text of a file that decides which others a source needs, with files in and around its folder
 * read ahead.
 */
export async function decidingText(
  snapshot: Snapshot,
  { file, folder }: { readonly file: FileNode; readonly folder: readonly string[] },
  signal: AbortSignal,
): Promise<string> {
  const contents = await snapshot.read([file], signal, { folder, areDeciding: true });
  return Buffer.from(contents.get(file.oid) ?? []).toString('utf8');
}

/** Memory of one file in a list, besides its content. */
const listedFileBytes = 256;

/** Memory that reading the files takes, before they are read. */
export async function bytesToRead(
  snapshot: Snapshot,
  blobs: readonly { readonly oid: string; readonly size: number }[],
  signal: AbortSignal,
): Promise<number> {
  const bytes = (await snapshot.measure?.(blobs, signal)) ?? blobs.reduce((sum, { size }) => sum + size, 0);
  return bytes + blobs.length * listedFileBytes;
}

/**
 * Refuses the whole snapshot if a link leads out of it, as Argo CD does (CheckOutOfBoundsSymlinks).
 * @throws DesiredError
 */
export function refuseOutsideLinks(snapshot: Snapshot, what: string): void {
  const link = snapshot.tree.outOfBoundsLink();
  if (link !== undefined)
    throw new DesiredError('DESIRED_PATH', `${what} contains out-of-bounds symlinks. file: ${link}`);
}

const switchedOff = 'submodules are switched off (ARGOCD_GIT_MODULES_ENABLED)';

/** Explains why the files of a submodule are missing. */
export function submoduleError(path: string, { fault = switchedOff }: SubmoduleNode): SourcePathError {
  return new SourcePathError(`the submodule "${path}" cannot be read: ${fault}`);
}

/** @throws SourcePathError */
export function directoryAt(tree: Tree, segments: readonly string[], shown: string): DirectoryNode {
  const found = tree.lookup(segments);
  if (found.kind === 'outside') throw new SourcePathError(`${shown}: app path outside root`);
  if (found.kind === 'missing') throw new SourcePathError(`${shown}: app path does not exist`);
  if (found.node.kind === 'submodule') throw submoduleError(shown, found.node);
  if (found.node.kind === 'file') throw new SourcePathError(`${shown}: app path is not a directory`);
  return found.node;
}
