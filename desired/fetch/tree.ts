import { yieldToLoop } from '#base';
import { SizeLimitExceeded } from '../errors.ts';

/** One entry of a commit. Directories know their tree's object id ("" for the root), so that equal directories are known as equal. */
export type TreeNode = DirectoryNode | FileNode | LinkNode | SubmoduleNode;
/** A commit of another repository, whose files are not here; `fault` says why, where they were looked for. */
export interface SubmoduleNode {
  readonly kind: 'submodule';
  readonly oid: string;
  readonly fault?: string;
}
export interface DirectoryNode {
  readonly kind: 'directory';
  readonly oid: string;
  readonly children: Map<string, TreeNode>;
}
export interface FileNode {
  readonly kind: 'file';
  readonly oid: string;
  readonly size: number;
}
export interface LinkNode {
  readonly kind: 'link';
  readonly oid: string;
  readonly size: number;
  target: string;
}

/** Where a path ends after following links; `outside` when a link leads out of the repository. */
export type Lookup =
  | { readonly kind: 'found'; readonly node: DirectoryNode | FileNode | SubmoduleNode }
  | { readonly kind: 'missing' }
  | { readonly kind: 'outside' };

const longestLink = 4096;
const mostHops = 40;

/** What an entry of a directory, a node, and a line in the list of links take in memory, without their texts; rounded up. */
const entryBytes = 80;
const nodeBytes = 160;
const listedBytes = 120;

export interface TreeLimits {
  readonly maxTreeEntries?: number;
  readonly maxTreeBytes?: number;
}

/** A listing that is being read: the directory of the last line is that of the next one, as a rule. */
interface Read {
  readonly bytes: Buffer;
  readonly files: Map<string, FileNode>;
  parentPath: string;
  parent: DirectoryNode | undefined;
}

interface Entry {
  readonly mode: string;
  readonly oid: string;
  readonly size: number;
}

/**
 * The files of one commit, without a checkout: nothing of a repository ever lies on disk as files, so that no link in it can lead to
 * anything but another entry of the same commit (T-SEC-30).
 */
export class Tree {
  readonly root: DirectoryNode = { kind: 'directory', oid: '', children: new Map() };
  readonly links: { readonly path: string; readonly node: LinkNode }[] = [];
  readonly submodules: { readonly path: string; readonly node: SubmoduleNode }[] = [];
  #weight = 0;

  /** About how many bytes of memory it takes, where it was read from a listing. */
  get weight(): number {
    return this.#weight;
  }

  /** Reads `git ls-tree -r -t -l -z`. @throws SizeLimitExceeded */
  static async parse(listing: Uint8Array, limits: TreeLimits = {}): Promise<Tree> {
    const { maxTreeEntries = Infinity, maxTreeBytes = Infinity } = limits;
    const tree = new Tree();
    const read: Read = {
      bytes: Buffer.from(listing.buffer, listing.byteOffset, listing.byteLength),
      files: new Map(),
      parentPath: '',
      parent: tree.root,
    };
    let from = 0;
    for (let count = 1; from < read.bytes.length; count += 1) {
      if (count > maxTreeEntries) throw tooLarge(`${maxTreeEntries} files and folders`);
      if (tree.#weight > maxTreeBytes) throw tooLarge(`${maxTreeBytes} bytes of names and links`);
      const end = read.bytes.indexOf(0, from);
      const stop = end < 0 ? read.bytes.length : end;
      tree.#add(read, from, stop);
      from = stop + 1;
      if (count % 4096 === 0) await yieldToLoop();
    }
    return tree;
  }

  /**
   * A tree of files and links that do not come from Git; directories follow from the paths, which must be clean. Of two nodes of one path the
   * later one counts. Undefined in place of the tree: a path leads through something that is no directory; `fault` says which.
   */
  static of(
    nodes: Iterable<{ readonly path: string; readonly node: FileNode | LinkNode }>,
  ): { readonly tree: Tree } | { readonly fault: string } {
    const tree = new Tree();
    for (const { path, node } of nodes) {
      const segments = path.split('/');
      const name = segments.pop() ?? '';
      let here = tree.root;
      for (const segment of segments) {
        const next = here.children.get(segment) ?? { kind: 'directory', oid: '', children: new Map() };
        if (next.kind !== 'directory') return { fault: path };
        here.children.set(segment, next);
        here = next;
      }
      if (here.children.get(name)?.kind === 'directory') return { fault: path };
      here.children.set(name, node);
    }
    for (const { path, node } of walk(tree.root, true)) if (node.kind === 'link') tree.links.push({ path, node });
    return { tree };
  }

  /** A tree with others in the places of its submodules; a text in place of one is why it is not there. The given trees stay as they are. */
  static mounted(base: Tree, mounts: ReadonlyMap<string, Tree | string>): Tree {
    const tree = new Tree();
    const copied = (node: DirectoryNode, into: DirectoryNode, prefix: string): void => {
      for (const [name, child] of node.children) {
        const path = prefix + name;
        const mount = child.kind === 'submodule' ? mounts.get(path) : undefined;
        const isOnTheWay = child.kind === 'directory' && [...mounts.keys()].some((at) => at.startsWith(`${path}/`));
        if (mount instanceof Tree) into.children.set(name, mount.root);
        else if (mount !== undefined && child.kind === 'submodule') into.children.set(name, { ...child, fault: mount });
        else if (isOnTheWay) {
          const copy: DirectoryNode = { ...child, children: new Map() };
          into.children.set(name, copy);
          copied(child, copy, `${path}/`);
        } else into.children.set(name, child);
      }
    };
    copied(base.root, tree.root, '');
    tree.#weight = base.#weight;
    for (const mount of mounts.values()) if (mount instanceof Tree) tree.#weight += mount.#weight;
    tree.links.push(...base.links);
    for (const [at, mount] of mounts)
      if (mount instanceof Tree)
        tree.links.push(...mount.links.map(({ path, node }) => ({ path: `${at}/${path}`, node })));
    return tree;
  }

  /** Texts are cut from the bytes, not from the text of the line: a part of a text keeps the whole of it in memory. */
  #add(read: Read, from: number, stop: number): void {
    const { bytes } = read;
    const tab = bytes.indexOf(9, from);
    const head = bytes.toString('latin1', from, tab);
    const afterMode = head.indexOf(' ');
    const afterType = head.indexOf(' ', afterMode + 1);
    const afterOid = head.indexOf(' ', afterType + 1);
    const entry: Entry = {
      mode: head.slice(0, afterMode),
      oid: bytes.toString('latin1', from + afterType + 1, from + afterOid),
      size: Number(head.slice(afterOid)),
    };
    const slash = bytes.lastIndexOf(47, stop - 1);
    const isTop = slash <= tab;
    const parentPath = isTop ? '' : bytes.toString('utf8', tab + 1, slash);
    if (parentPath !== read.parentPath) {
      read.parentPath = parentPath;
      read.parent = this.#directoryAt(parentPath);
    }
    const name = bytes.toString('utf8', (isTop ? tab : slash) + 1, stop);
    const node = this.#nodeOf(entry, read);
    const path = (): string => bytes.toString('utf8', tab + 1, stop);
    if (node.kind === 'link') this.links.push({ path: path(), node });
    if (node.kind === 'submodule') this.submodules.push({ path: path(), node });
    const isListed = node.kind === 'link' || node.kind === 'submodule';
    this.#weight += entryBytes + name.length + (isListed ? listedBytes + (stop - tab) : 0);
    read.parent?.children.set(name, node);
  }

  /** Equal files are one node: many names of a few files weigh their names. */
  #nodeOf(entry: Entry, { files }: Read): TreeNode {
    const known = entry.mode.startsWith('100') ? files.get(entry.oid) : undefined;
    if (known !== undefined) return known;
    const node = nodeOf(entry);
    this.#weight += nodeBytes + (node.kind === 'link' && node.size <= longestLink ? node.size : 0);
    if (node.kind === 'file') files.set(entry.oid, node);
    return node;
  }

  #directoryAt(path: string): DirectoryNode | undefined {
    let here: TreeNode | undefined = this.root;
    if (path === '') return this.root;
    for (const segment of path.split('/')) here = here?.kind === 'directory' ? here.children.get(segment) : undefined;
    return here?.kind === 'directory' ? here : undefined;
  }

  /** The first link whose target is absolute, too long, or leaves the repository when read segment by segment. */
  outOfBoundsLink(): string | undefined {
    return this.links.find(({ path, node }) => node.size > longestLink || leavesRoot(path, node.target))?.path;
  }

  /** Follows `segments` from the root (or from `base`, which they may leave by ".."), through links, as a file system would. */
  lookup(segments: readonly string[], base: readonly string[] = []): Lookup {
    const stack: DirectoryNode[] = [this.root];
    const todo = [...base, ...segments].reverse();
    let hops = 0;
    while (todo.length > 0) {
      const segment = todo.pop() ?? '';
      if (segment === '' || segment === '.') continue;
      if (segment === '..') {
        if (stack.length === 1) return { kind: 'outside' };
        stack.pop();
        continue;
      }
      const node = stack.at(-1)?.children.get(segment);
      if (node === undefined) return { kind: 'missing' };
      if (node.kind === 'directory') stack.push(node);
      else if (node.kind === 'link') {
        hops += 1;
        if (hops > mostHops) return { kind: 'missing' };
        if (node.target.startsWith('/')) return { kind: 'outside' };
        todo.push(...node.target.split('/').reverse());
      } else return todo.length === 0 ? { kind: 'found', node } : { kind: 'missing' };
    }
    return { kind: 'found', node: stack.at(-1) ?? this.root };
  }
}

function tooLarge(than: string): SizeLimitExceeded {
  return new SizeLimitExceeded(`the repository has more than ${than}: a smaller one is needed for these manifests`);
}

function nodeOf({ mode, oid, size }: Entry): TreeNode {
  switch (mode) {
    case '040000':
      return { kind: 'directory', oid, children: new Map() };
    case '120000':
      return { kind: 'link', oid, size, target: '' };
    case '160000':
      return { kind: 'submodule', oid };
    default:
      return { kind: 'file', oid, size };
  }
}

function leavesRoot(path: string, target: string): boolean {
  if (target.startsWith('/')) return true;
  let depth = path.split('/').length - 1;
  for (const segment of target.split('/')) {
    if (segment === '..') depth -= 1;
    else if (segment !== '' && segment !== '.') depth += 1;
    if (depth < 0) return true;
  }
  return false;
}

/** Names in the order of Go's os.ReadDir: by their bytes. */
export function inByteOrder(names: Iterable<string>): string[] {
  // For text without surrogates, the order of code units is that of UTF-8 bytes.
  const list = [...names];
  if (list.some((name) => /[\ud800-\udfff]/.test(name)))
    return list.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  return list.sort();
}

export interface WalkedEntry {
  /** Relative to where the walk began. */
  readonly path: string;
  readonly name: string;
  readonly node: Exclude<TreeNode, DirectoryNode>;
}

/** The entries under a directory in lexical order, directories in their place; links are entries, never descended. */
export function* walk(directory: DirectoryNode, recurse: boolean, prefix = ''): Generator<WalkedEntry> {
  for (const name of inByteOrder(directory.children.keys())) {
    const node = directory.children.get(name);
    if (node === undefined) continue;
    if (node.kind !== 'directory') yield { path: prefix + name, name, node };
    else if (recurse) yield* walk(node, recurse, `${prefix}${name}/`);
  }
}
