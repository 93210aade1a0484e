import { hashJson } from '#base';
import { SizeLimitExceeded, SourcePathError } from '../../errors.ts';
import type { DesiredLimits } from '../../limits.ts';
import { submoduleError } from './snapshot.ts';
import type { FileNode, LinkNode, Tree, TreeNode } from './tree.ts';

const maxLinkHops = 40;

/** A node of the tree and its real path, after following links. */
interface TreePosition {
  readonly path: readonly string[];
  readonly node: TreeNode;
}

/**
 * The files of a snapshot that a program receives: directories or single files, plus the links on
 * the way and their targets. Links are followed as a file system would, so a link that leads out of
 * the snapshot is found before anything is written to disk. (Checking the text of each link is not
 * enough: links may pass through links.)
 */
export class Selection {
  readonly tree: Tree;
  /** Keyed by real path. */
  readonly files = new Map<string, FileNode>();
  readonly links = new Map<string, LinkNode>();
  readonly #seen = new Set<string>();

  constructor(tree: Tree) {
    this.tree = tree;
  }

  /**
   * Adds the file or directory at a path from the root; a missing path is ignored.
   * @throws SourcePathError for a link that leads out, or a submodule
   */
  add(segments: readonly string[]): void {
    const spot = this.#walk([], segments);
    if (spot !== undefined) this.#take(spot);
  }

  /**
   * Resolves the links of a path and adds them; undefined if the path does not exist.
   * @throws SourcePathError for a link that leads out
   */
  realPath(segments: readonly string[]): readonly string[] | undefined {
    return this.#walk([], segments)?.path;
  }

  /** Equal keys mean equal files for the program. */
  key(): string {
    const lines = [...this.files].map(([path, { oid }]) => `${path}\0${oid}`);
    for (const [path, { oid }] of this.links) lines.push(`${path}\0link ${oid}`);
    return hashJson(lines.sort());
  }

  /** @throws SizeLimitExceeded */
  check(limits: Pick<DesiredLimits, 'maxCheckoutBytes' | 'maxCheckoutFiles'>): void {
    if (this.files.size + this.links.size > limits.maxCheckoutFiles)
      throw new SizeLimitExceeded(`the source needs more than ${limits.maxCheckoutFiles} files`);
    let bytes = 0;
    for (const { size } of this.files.values()) bytes += size;
    if (bytes > limits.maxCheckoutBytes)
      throw new SizeLimitExceeded(`the files of the source have more than ${limits.maxCheckoutBytes} bytes`);
  }

  #take({ path, node }: TreePosition): void {
    const shown = path.join('/');
    if (this.#seen.has(shown)) return;
    this.#seen.add(shown);
    if (node.kind === 'file') this.files.set(shown, node);
    else if (node.kind === 'link') this.#follow(path, node);
    else if (node.kind === 'submodule') throw submoduleError(shown, node);
    else for (const [name, child] of node.children) this.#take({ path: [...path, name], node: child });
  }

  /** Adds a link and its target; a dangling link is left out. */
  #follow(path: readonly string[], node: LinkNode): void {
    if (node.target.startsWith('/')) throw outside(path);
    const target = this.#walk(path.slice(0, -1), node.target.split('/'), path);
    if (target === undefined) return;
    this.links.set(path.join('/'), node);
    this.#take(target);
  }

  /**
   * Resolves a path and adds the links on the way; undefined if it does not exist. `via` is the
   * path named in the error for a link that leads out.
   */
  #walk(base: readonly string[], segments: readonly string[], via = segments): TreePosition | undefined {
    const root: TreePosition = { path: [], node: this.tree.root };
    const trail: TreePosition[] = [];
    const todo = [...base, ...segments].reverse();
    for (let hops = 0; todo.length > 0;) {
      const segment = todo.pop() ?? '';
      if (segment === '' || segment === '.') continue;
      if (segment === '..') {
        if (trail.pop() === undefined) throw outside(via);
        continue;
      }
      const spot = childOf(trail.at(-1) ?? root, segment);
      if (spot?.node.kind === 'directory') trail.push(spot);
      else if (spot?.node.kind !== 'link') return todo.length > 0 ? undefined : spot;
      else {
        hops += 1;
        if (hops > maxLinkHops) return undefined;
        todo.push(...this.#through(spot.path, spot.node));
      }
    }
    return trail.at(-1) ?? root;
  }

  /** Returns the segments of the target, last first. */
  #through(path: readonly string[], node: LinkNode): string[] {
    if (node.target.startsWith('/')) throw outside(path);
    this.links.set(path.join('/'), node);
    return node.target.split('/').reverse();
  }
}

function childOf({ path, node }: TreePosition, name: string): TreePosition | undefined {
  const child = node.kind === 'directory' ? node.children.get(name) : undefined;
  return child === undefined ? undefined : { path: [...path, name], node: child };
}

function outside(path: readonly string[]): SourcePathError {
  return new SourcePathError(`${path.join('/')}: leads out of the repository`);
}
