import { SizeLimitExceeded } from '../../errors.ts';
import { bytesToRead } from '../../fetch/files/snapshot.ts';
import type { Snapshot } from '../../fetch/files/snapshot.ts';
import { inByteOrder, walk } from '../../fetch/files/tree.ts';
import type { FileNode } from '../../fetch/files/tree.ts';
import { checkMetadataSize } from '../small-yaml.ts';
import { parseIgnoreRules } from './helmignore.ts';
import type { IgnoreTest } from './helmignore.ts';

export interface ChartFile {
  readonly path: string;
  readonly content: Uint8Array;
}

const maxFiles = 20_000;
const maxDepth = 64;

/** The files of a chart that are not in memory yet. */
export interface UnreadChart {
  readonly bytes: number;
  readonly read: (signal: AbortSignal) => Promise<readonly ChartFile[]>;
}

interface FoundFile {
  readonly path: string;
  readonly node: FileNode | undefined;
}

/** The files of an unpacked chart in a repository. Follows links, and applies .helmignore. */
export async function chartFiles(
  snapshot: Snapshot,
  segments: readonly string[],
  signal: AbortSignal,
): Promise<UnreadChart> {
  const rules = snapshot.tree.lookup([...segments, '.helmignore']);
  const node = rules.kind === 'found' && rules.node.kind === 'file' ? rules.node : undefined;
  if (node !== undefined) checkMetadataSize(node, [...segments, '.helmignore']);
  const text = node === undefined ? '' : await textOf(snapshot, node, signal);
  const found: FoundFile[] = [];
  collect({ snapshot, segments, isIgnored: parseIgnoreRules(text), found }, [], new Set());
  return unreadChart(snapshot, found, signal);
}

/** The files of a packed chart. Helm reads a link in an archive as an empty file. */
export async function packedChartFiles(snapshot: Snapshot, signal: AbortSignal): Promise<UnreadChart> {
  const found = [...walk(snapshot.tree.root, true)].map(({ path, node }) => ({
    path,
    node: node.kind === 'file' ? node : undefined,
  }));
  return unreadChart(snapshot, found, signal);
}

interface ChartWalk {
  readonly snapshot: Snapshot;
  readonly segments: readonly string[];
  readonly isIgnored: IgnoreTest;
  readonly found: FoundFile[];
}

function collect(chart: ChartWalk, below: readonly string[], open: Set<object>): void {
  const { snapshot, segments, isIgnored, found } = chart;
  const here = snapshot.tree.lookup([...segments, ...below]);
  if (here.kind !== 'found' || here.node.kind !== 'directory' || open.has(here.node)) return;
  if (below.length > maxDepth || found.length > maxFiles)
    throw new SizeLimitExceeded(`the chart ${segments.join('/')} has too many files`);
  open.add(here.node);
  for (const name of inByteOrder(here.node.children.keys())) {
    const path = [...below, name];
    const shown = path.join('/');
    const child = snapshot.tree.lookup([...segments, ...path]);
    if (child.kind !== 'found' || isIgnored(shown, child.node.kind === 'directory')) continue;
    if (child.node.kind === 'directory') collect(chart, path, open);
    else if (child.node.kind === 'file') found.push({ path: shown, node: child.node });
  }
  open.delete(here.node);
}

async function unreadChart(snapshot: Snapshot, found: readonly FoundFile[], signal: AbortSignal): Promise<UnreadChart> {
  const nodes = found.flatMap(({ node }) => node ?? []);
  return {
    bytes: await bytesToRead(snapshot, nodes, signal),
    read: async (inner) => {
      const contents = await snapshot.read(nodes, inner);
      return found.map(({ path, node }) => ({ path, content: contents.get(node?.oid ?? '') ?? new Uint8Array() }));
    },
  };
}

async function textOf(snapshot: Snapshot, node: FileNode, signal: AbortSignal): Promise<string> {
  const contents = await snapshot.read([node], signal);
  return Buffer.from(contents.get(node.oid) ?? []).toString('utf8');
}
