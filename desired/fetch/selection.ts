import { hashJson } from '#base';
import { SizeLimitExceeded, SourcePathError } from '../errors.ts';
import type { DesiredLimits } from '../limits.ts';
import { notThere } from './snapshot.ts';
import type { FileNode, LinkNode, Tree, TreeNode } from './tree.ts';

const mostHops = 40;

/** A place in a tree after links were followed. */
interface Spot {
  readonly path: readonly string[];
  readonly node: TreeNode;
}

/**
 * The files of a snapshot that a program is given: whole directories or single files, with the links on the way and what they lead to. A link
 * is followed as a file system would follow it, so that one which really leads out of the snapshot is found here, before anything lies on
 * disk (a look at the text of each link alone is not enough: links may go through links).
 */
export class Selection {
  readonly tree: Tree;
  /** By their real paths. */
  readonly files = new Map<string, FileNode>();
  readonly links = new Map<string, LinkNode>();
  readonly #seen = new Set<string>();

  constructor(tree: Tree) {
    this.tree = tree;
  }

  /**
   * Adds what lies at a path from the root, if anything does.
   * @throws SourcePathError for a link that leads out; UnsupportedSource for a submodule
   */
  add(segments: readonly string[]): void {
    const spot = this.#walk([], segments);
    if (spot !== undefined) this.#take(spot);
  }

  /** What the program sees: equal keys, equal files. */
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

  #take({ path, node }: Spot): void {
    const shown = path.join('/');
    if (this.#seen.has(shown)) return;
    this.#seen.add(shown);
    if (node.kind === 'file') this.files.set(shown, node);
    else if (node.kind === 'link') this.#follow(path, node);
    else if (node.kind === 'submodule') throw notThere(shown, node);
    else for (const [name, child] of node.children) this.#take({ path: [...path, name], node: child });
  }

  /** The link itself, and where it leads; one that leads nowhere is not there. */
  #follow(path: readonly string[], node: LinkNode): void {
    if (node.target.startsWith('/')) throw outside(path);
    const target = this.#walk(path.slice(0, -1), node.target.split('/'), path);
    if (target === undefined) return;
    this.links.set(path.join('/'), node);
    this.#take(target);
  }

  /** Where a path ends, through links, which are taken along; undefined when it ends nowhere. `via` is for the message of one that leads out. */
  #walk(base: readonly string[], segments: readonly string[], via = segments): Spot | undefined {
    const root: Spot = { path: [], node: this.tree.root };
    const trail: Spot[] = [];
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
        if (hops > mostHops) return undefined;
        todo.push(...this.#through(spot.path, spot.node));
      }
    }
    return trail.at(-1) ?? root;
  }

  /** What is to be walked next, last first. */
  #through(path: readonly string[], node: LinkNode): string[] {
    if (node.target.startsWith('/')) throw outside(path);
    this.links.set(path.join('/'), node);
    return node.target.split('/').reverse();
  }
}

function childOf({ path, node }: Spot, name: string): Spot | undefined {
  const child = node.kind === 'directory' ? node.children.get(name) : undefined;
  return child === undefined ? undefined : { path: [...path, name], node: child };
}

function outside(path: readonly string[]): SourcePathError {
  return new SourcePathError(`${path.join('/')}: leads out of the repository`);
}
