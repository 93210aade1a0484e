import { compileGlob } from '#base';
import type { GitRepository } from '../fetch/git/git-repository.ts';
import type { Tree, TreeNode } from '../fetch/files/tree.ts';
import { readTrailers } from './dry-commit.ts';
import type { DryCommit } from './dry-commit.ts';

/** Fields are separated by NUL, which no commit contains. */
const format = '--format=%an <%ae>%x00%at%x00%(trailers:only=true,unfold=true)%x00%B';

/** Reads a commit that the mirror has (Argo CD: git client RevisionMetadata). */
export async function readDryCommit(repository: GitRepository, sha: string, signal: AbortSignal): Promise<DryCommit> {
  const args = ['show', '-s', '--no-show-signature', format, sha];
  const output = await repository.examine(args, `commit ${sha}`, { signal });
  const [author = '', time = '', trailers = '', message = ''] = output.split('\0');
  const { related } = readTrailers(trailers);
  return {
    author,
    authoredAt: /^\d+$/.test(time) ? Number(time) : undefined,
    message: message.trim(),
    references: related === undefined ? [] : [related],
  };
}

/** Beyond this many comparisons of a file with a path, the answer is that they differ. */
const maxPathChecks = 200_000;
const maxPaths = 1000;

/**
 * Whether the two trees differ in a file that is at, below or matched by one of the paths. Too many
 * files or paths to compare count as a difference.
 */
export function differsAt(before: Tree, after: Tree, paths: readonly string[]): boolean {
  if (paths.length > maxPaths) return true;
  const matchers = paths.map(matcherOf);
  let checks = 0;
  for (const file of changedFiles(before.root, after.root, '')) {
    checks += paths.length;
    if (checks > maxPathChecks || matchers.some((matches) => matches(file))) return true;
  }
  return false;
}

function matcherOf(path: string): (file: string) => boolean {
  if (path === '' || path === '.') return () => true;
  const glob = /[*?[{\\]/.test(path) ? compileGlob(path) : undefined;
  return (file) => file === path || file.startsWith(`${path}/`) || glob?.(file) === true;
}

/** The paths of the files that differ. Directories with equal IDs are equal and not searched. */
function* changedFiles(before: TreeNode | undefined, after: TreeNode | undefined, prefix: string): Generator<string> {
  const [left, right] = [childrenOf(before), childrenOf(after)];
  for (const name of new Set([...left.keys(), ...right.keys()])) {
    const [old, now] = [left.get(name), right.get(name)];
    if (isSame(old, now)) continue;
    const path = `${prefix}${name}`;
    if (isFile(old) || isFile(now)) yield path;
    yield* changedFiles(old, now, `${path}/`);
  }
}

function isFile(node: TreeNode | undefined): boolean {
  return node !== undefined && node.kind !== 'directory';
}

function childrenOf(node: TreeNode | undefined): ReadonlyMap<string, TreeNode> {
  return node?.kind === 'directory' ? node.children : new Map();
}

/** The root of a tree or submodule has no ID. */
function isSame(old: TreeNode | undefined, now: TreeNode | undefined): boolean {
  return old?.kind === now?.kind && old?.oid === now?.oid && old?.oid !== '';
}
