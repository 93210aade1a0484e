import { yieldToLoop } from '#base';
import { SizeLimitExceeded } from '../../errors.ts';

/**
 * One entry of a commit. A directory carries its tree's object id ("" for the root), so equal
 * directories have equal ids.
 */
export type TreeNode = DirectoryNode | FileNode | LinkNode | SubmoduleNode;
/**
 * A commit of another repository whose files are not in this tree; `fault` explains a failed fetch.
 */
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
  /** Its mode in Git is 100755. Absent: it is not. */
  readonly isExecutable?: true;
}
export interface LinkNode {
  readonly kind: 'link';
  readonly oid: string;
  readonly size: number;
  target: string;
}

/** The end of a path after following links; `outside` if a link leads out of the repository. */
export type PathLookup =
  | { readonly kind: 'found'; readonly node: DirectoryNode | FileNode | SubmoduleNode }
  | { readonly kind: 'missing' }
  | { readonly kind: 'outside' };

const maxLinkBytes = 4096;
const maxLinkHops = 40;

/**
 * Estimated memory of a directory entry, a node and an entry of the link list, without their texts.
 */
const entryBytes = 80;
const nodeBytes = 160;
const listedBytes = 120;

export interface TreeLimits {
  readonly maxTreeEntries?: number;
  readonly maxTreeBytes?: number;
}

/**
 * State of parsing a listing. Caches the parent directory, since consecutive lines usually share
 * it.
 */
interface ListingReader {
  readonly bytes: Buffer;
  readonly files: Map<string, FileNode>;
  parentPath: string;
  parent: DirectoryNode | undefined;
}

interface ListingEntry {
  readonly mode: string;
  readonly oid: string;
  readonly size: number;
}

/**
 * The files of one commit, without a checkout. No file of a repository is written to disk, so a
 * link can only lead to another entry of the same commit (T-SEC-30).
 */
export class Tree {
  readonly root: DirectoryNode = { kind: 'directory', oid: '', children: new Map() };
  readonly links: { readonly path: string; readonly node: LinkNode }[] = [];
  readonly submodules: { readonly path: string; readonly node: SubmoduleNode }[] = [];
  /** The files `.gitattributes`, of all folders. */
  readonly attributeFiles: { readonly path: string; readonly node: FileNode | LinkNode }[] = [];
  #weight = 0;

  /** Estimated memory in bytes, for trees that were read from a listing. */
  get weight(): number {
    return this.#weight;
  }

  /** Parses `git ls-tree -r -t -l -z`. @throws SizeLimitExceeded */
  static async parse(listing: Uint8Array, limits: TreeLimits = {}): Promise<Tree> {
    const { maxTreeEntries = Infinity, maxTreeBytes = Infinity } = limits;
    const tree = new Tree();
    const read: ListingReader = {
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
   * Builds a tree of files and links that do not come from Git. Directories follow from the paths,
   * which must be clean; the last node of a path wins. Returns `fault` with the path that passes
   * through something other than a directory.
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

  /**
   * Returns a copy with trees in place of submodules; a text marks a submodule that could not be
   * fetched. The given trees are not modified.
   */
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

  /**
   * Strings are cut from the bytes: a substring of the line would keep the whole line in memory.
   */
  #add(read: ListingReader, from: number, stop: number): void {
    const { bytes } = read;
    const tab = bytes.indexOf(9, from);
    const head = bytes.toString('latin1', from, tab);
    const afterMode = head.indexOf(' ');
    const afterType = head.indexOf(' ', afterMode + 1);
    const afterOid = head.indexOf(' ', afterType + 1);
    const entry: ListingEntry = {
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
    const isAttributes = name === '.gitattributes' && (node.kind === 'file' || node.kind === 'link');
    if (isAttributes) this.attributeFiles.push({ path: path(), node });
    const isListed = node.kind === 'link' || node.kind === 'submodule' || isAttributes;
    this.#weight += entryBytes + name.length + (isListed ? listedBytes + (stop - tab) : 0);
    read.parent?.children.set(name, node);
  }

  /** Shares one node between equal files, so further names of a file cost only their text. */
  #nodeOf(entry: ListingEntry, { files }: ListingReader): TreeNode {
    const key = entry.mode === '100755' ? `${entry.oid} x` : entry.oid;
    const known = entry.mode.startsWith('100') ? files.get(key) : undefined;
    if (known !== undefined) return known;
    const node = nodeOf(entry);
    this.#weight += nodeBytes + (node.kind === 'link' && node.size <= maxLinkBytes ? node.size : 0);
    if (node.kind === 'file') files.set(key, node);
    return node;
  }

  #directoryAt(path: string): DirectoryNode | undefined {
    let here: TreeNode | undefined = this.root;
    if (path === '') return this.root;
    for (const segment of path.split('/')) here = here?.kind === 'directory' ? here.children.get(segment) : undefined;
    return here?.kind === 'directory' ? here : undefined;
  }

  /**
   * Returns the first link whose target is too long, absolute, or leaves the repository when read
   * segment by segment.
   */
  outOfBoundsLink(): string | undefined {
    return this.links.find(({ path, node }) => node.size > maxLinkBytes || leavesRoot(path, node.target))?.path;
  }

  /**
   * Follows `segments` from the root (or from `base`, which ".." may leave) through links, as a
   * file system would.
   */
  lookup(segments: readonly string[], base: readonly string[] = []): PathLookup {
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
        if (hops > maxLinkHops) return { kind: 'missing' };
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

function nodeOf({ mode, oid, size }: ListingEntry): TreeNode {
  switch (mode) {
    case '040000':
      return { kind: 'directory', oid, children: new Map() };
    case '120000':
      return { kind: 'link', oid, size, target: '' };
    case '160000':
      return { kind: 'submodule', oid };
    case '100755':
      return { kind: 'file', oid, size, isExecutable: true };
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

/** Sorts names by their bytes, in the order of Go's os.ReadDir. */
export function inByteOrder(names: Iterable<string>): string[] {
  // Without surrogates, code unit order equals UTF-8 byte order.
  const list = [...names];
  if (list.some((name) => /[\ud800-\udfff]/.test(name)))
    return list.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  return list.sort();
}

export interface WalkedEntry {
  /** Relative to the start of the walk. */
  readonly path: string;
  readonly name: string;
  readonly node: Exclude<TreeNode, DirectoryNode>;
}

/** Yields the entries below a directory in lexical order. Links are yielded, never followed. */
export function* walk(directory: DirectoryNode, recurse: boolean, prefix = ''): Generator<WalkedEntry> {
  for (const name of inByteOrder(directory.children.keys())) {
    const node = directory.children.get(name);
    if (node === undefined) continue;
    if (node.kind !== 'directory') yield { path: prefix + name, name, node };
    else if (recurse) yield* walk(node, recurse, `${prefix}${name}/`);
  }
}
