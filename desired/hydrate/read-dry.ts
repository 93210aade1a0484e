import { globMatch } from '#base';
import type { GitRepository } from '../fetch/git/git-repository.ts';
import { walk } from '../fetch/files/tree.ts';
import type { Tree } from '../fetch/files/tree.ts';
import { readTrailers } from './dry-commit.ts';
import type { DryCommit } from './dry-commit.ts';

/** Reads a commit that the mirror has (Argo CD: git client RevisionMetadata). */
export async function readDryCommit(repository: GitRepository, sha: string, signal: AbortSignal): Promise<DryCommit> {
  const show = (format: string): Promise<string> =>
    repository.examine(['show', '-s', '--no-show-signature', `--format=${format}`, sha], `commit ${sha}`, { signal });
  const [author = '', time = '', ...lines] = (await show('%an <%ae>%n%at%n%B')).split('\n');
  const { related } = readTrailers(await show('%(trailers:only=true,unfold=true)'));
  return {
    author,
    authoredAt: /^\d+$/.test(time) ? Number(time) : undefined,
    message: lines.join('\n').trim(),
    references: related === undefined ? [] : [related],
  };
}

/** Whether the two trees differ in a file that is at, below or matched by one of the paths. */
export function differsAt(before: Tree, after: Tree, paths: readonly string[]): boolean {
  const [old, now] = [entriesOf(before, paths), entriesOf(after, paths)];
  return old.size !== now.size || [...old].some(([path, oid]) => now.get(path) !== oid);
}

function entriesOf({ root }: Tree, paths: readonly string[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const { path, node } of walk(root, true)) if (paths.some((each) => isAt(each, path))) found.set(path, node.oid);
  return found;
}

function isAt(path: string, file: string): boolean {
  return path === '' || path === '.' || file === path || file.startsWith(`${path}/`) || globMatch(path, file);
}
