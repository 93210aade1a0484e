import { DesiredError, SourcePathError, UnsupportedSource } from '../errors.ts';
import type { DirectoryNode, SubmoduleNode, Tree } from './tree.ts';

/** The files of one revision, wherever they come from. Nothing of them lies on disk as files yet. */
export interface Snapshot {
  /** From where, and with which credentials: what one may read must not be answered to another. */
  readonly key: string;
  /** Commit, or version of a chart. */
  readonly revision: string;
  readonly tree: Tree;
  /** The contents of files, by object id. */
  read(
    blobs: readonly { readonly oid: string; readonly size: number }[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, Uint8Array>>;
}

/** @throws DesiredError when a link of the snapshot leads out of it: then nothing of it is rendered, as in Argo CD (CheckOutOfBoundsSymlinks) */
export function refuseOutsideLinks(snapshot: Snapshot, what: string): void {
  const link = snapshot.tree.outOfBoundsLink();
  if (link !== undefined)
    throw new DesiredError('DESIRED_PATH', `${what} contains out-of-bounds symlinks. file: ${link}`);
}

/** Why the files of a submodule are not there. */
export function notThere(path: string, { fault }: SubmoduleNode): DesiredError {
  if (fault === undefined) return new UnsupportedSource(`Git submodules ("${path}")`);
  return new SourcePathError(`the submodule "${path}" cannot be read: ${fault}`);
}

/** @throws SourcePathError, UnsupportedSource */
export function directoryAt(tree: Tree, segments: readonly string[], shown: string): DirectoryNode {
  const found = tree.lookup(segments);
  if (found.kind === 'outside') throw new SourcePathError(`${shown}: app path outside root`);
  if (found.kind === 'missing') throw new SourcePathError(`${shown}: app path does not exist`);
  if (found.node.kind === 'submodule') throw notThere(shown, found.node);
  if (found.node.kind === 'file') throw new SourcePathError(`${shown}: app path is not a directory`);
  return found.node;
}
