import { CommandError, SizeLimitExceeded } from '../../errors.ts';
import type { DesiredLimits } from '../../limits.ts';
import { Tree } from '../files/tree.ts';
import { applyAttributes } from './attributes.ts';
import type { AttributeReader } from './attributes.ts';

/** The mirror that has the commit. */
export interface TreeReader extends AttributeReader {
  readonly limits: DesiredLimits;
}

/**
 * Lists the files of a commit, with the targets of links, and with ids of their own for files that
 * a checkout converts.
 * @throws SizeLimitExceeded
 */
export async function readCommitTree(commit: string, from: TreeReader, signal: AbortSignal): Promise<Tree> {
  const args = ['ls-tree', '-r', '-t', '-l', '-z', '--full-tree', commit];
  const listing = await from.run(args, {}).catch((error: unknown) => {
    if (!(error instanceof CommandError) || error.code !== 'COMMAND_OUTPUT') throw error;
    throw new SizeLimitExceeded(`the repository has too many files and folders at ${commit}`);
  });
  const tree = await Tree.parse(listing, from.limits);
  await readLinks(tree, from, signal);
  await applyAttributes(tree, commit, from, signal);
  return tree;
}

async function readLinks(tree: Tree, { read }: TreeReader, signal: AbortSignal): Promise<void> {
  const short = tree.links.filter(({ node }) => node.size <= 4096);
  if (short.length === 0) return;
  const contents = await read(
    short.map(({ node }) => node),
    signal,
  );
  for (const { node } of short) node.target = Buffer.from(contents.get(node.oid) ?? []).toString('utf8');
}
