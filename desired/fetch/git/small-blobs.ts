import type { Lru } from '../shared/lru.ts';
import type { DirectoryNode, FileNode, Tree, TreeNode } from '../files/tree.ts';

/** Memory for kept blobs of all repositories. */
export const smallBlobsBytes = 8 * 1024 * 1024;

const maxSmallBlobBytes = 32 * 1024;
const maxFilesAhead = 256;
const maxBytesAhead = 256 * 1024;
/** Entries of folders that are looked at. */
const maxEntriesAhead = 4096;
/** Memory of one kept blob besides its content: its key, and the entries of two maps. */
const keptBlobBytes = 256;

export interface Blob {
  readonly oid: string;
  readonly size: number;
}

/** Blobs that later reads may need. */
export interface BlobsAhead {
  readonly files: () => readonly Blob[];
  /** Also while git is idle. */
  readonly always: boolean;
}

export type BlobContents = ReadonlyMap<string, Uint8Array>;
type ReadBlobs = (blobs: readonly Blob[]) => Promise<BlobContents>;

/**
 * Small files of one mirror that were read ahead. Starting git takes longer than reading hundreds
 * of small files, so a file that decides what a source needs is read with its neighbours.
 */
export class SmallBlobs {
  readonly #kept: Lru<Uint8Array>;
  readonly #mirror: string;

  constructor(kept: Lru<Uint8Array>, mirror: string) {
    this.#kept = kept;
    this.#mirror = mirror;
  }

  /** Reads the blobs that are not kept. It gives no others, though git answers several callers. */
  async read(blobs: readonly Blob[], readMissing: ReadBlobs): Promise<BlobContents> {
    const { kept, missing } = this.#split(blobs);
    if (missing.length === 0) return kept;
    const contents = await readMissing(missing);
    const wanted = new Map(kept);
    for (const { oid } of missing) {
      const content = contents.get(oid);
      if (content !== undefined) wanted.set(oid, content);
    }
    return wanted;
  }

  /**
   * Like {@link read}. If a blob is missing, also reads those of `ahead`, and keeps small ones.
   * @param owner the project that reads
   */
  async readAhead(
    blobs: readonly Blob[],
    ahead: () => readonly Blob[],
    readMissing: ReadBlobs,
    owner: string,
  ): Promise<BlobContents> {
    if (this.#split(blobs).missing.length === 0) return this.read(blobs, readMissing);
    const all = [...blobs, ...ahead()];
    const contents = await this.read(all, readMissing);
    for (const blob of all) this.#keep(blob, contents.get(blob.oid), owner);
    return this.read(blobs, () => Promise.resolve(contents));
  }

  #split(blobs: readonly Blob[]): { readonly kept: BlobContents; readonly missing: readonly Blob[] } {
    const kept = new Map<string, Uint8Array>();
    const missing: Blob[] = [];
    for (const blob of blobs) {
      const content = blob.size > maxSmallBlobBytes ? undefined : this.#kept.get(this.#key(blob));
      if (content === undefined) missing.push(blob);
      else kept.set(blob.oid, content);
    }
    return { kept, missing };
  }

  /** Copies it: what git printed for many files must not stay in memory for one of them. */
  #keep(blob: Blob, content: Uint8Array | undefined, owner: string): void {
    if (content === undefined || blob.size > maxSmallBlobBytes) return;
    this.#kept.set(this.#key(blob), Uint8Array.from(content), blob.size + keptBlobBytes, owner);
  }

  #key({ oid }: Blob): string {
    return `${this.#mirror} ${oid}`;
  }
}

/**
 * The small files that may be needed next by a source in this folder or by its neighbours: those
 * below it, then those of the folders around it, where bases and other Applications are, beginning
 * with what follows this folder. A bounded number of them.
 */
export function filesAhead(tree: Tree, segments: readonly string[]): readonly FileNode[] {
  const found = new FileCollector();
  for (let depth = segments.length; depth >= 0 && !found.isFull; depth -= 1) {
    const at = tree.lookup(segments.slice(0, depth));
    if (at.kind === 'found' && at.node.kind === 'directory') found.add(at.node, segments[depth]);
  }
  return found.files;
}

class FileCollector {
  readonly files: FileNode[] = [];
  isFull = false;
  readonly #seen = new Set<DirectoryNode>();
  #entries = 0;
  #bytes = 0;

  /** @param first the child of `folder` to begin with */
  add(folder: DirectoryNode, first?: string): void {
    const todo: Iterable<TreeNode>[] = [childrenFrom(folder, first)];
    this.#seen.add(folder);
    for (let next = todo.shift(); next !== undefined; next = todo.shift()) {
      for (const node of next) {
        this.#entries += 1;
        if (node.kind === 'file' && isReadAhead(node)) this.#take(node);
        else if (node.kind === 'directory' && !this.#seen.has(node)) {
          this.#seen.add(node);
          todo.push(node.children.values());
        }
        this.isFull ||= this.#entries >= maxEntriesAhead;
        if (this.isFull) return;
      }
    }
  }

  #take(node: FileNode): void {
    this.#bytes += node.size;
    this.isFull = this.files.length >= maxFilesAhead || this.#bytes > maxBytesAhead;
    if (!this.isFull) this.files.push(node);
  }
}

/** The children in order, from `first` on, and then those before it. */
function* childrenFrom({ children }: DirectoryNode, first = ''): Generator<TreeNode> {
  let hasBegun = !children.has(first);
  for (const [name, node] of children) if ((hasBegun ||= name === first)) yield node;
  if (!children.has(first)) return;
  for (const [name, node] of children) {
    if (name === first) return;
    yield node;
  }
}

/** A converted file has an id of its own, which is no blob. */
function isReadAhead({ oid, size }: FileNode): boolean {
  return size <= maxSmallBlobBytes && !oid.includes(' ');
}
