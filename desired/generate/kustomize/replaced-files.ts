import { bytesToRead } from '../../fetch/files/snapshot.ts';
import type { Snapshot } from '../../fetch/files/snapshot.ts';
import type { StagedFiles, UnreadFiles } from '../../fetch/files/staged-files.ts';
import type { FileNode } from '../../fetch/files/tree.ts';

/** The folder for files from outside an overlay's root, if administrators allow those. */
export const outsideFolder = '.driftless-outside';

/**
 * Files of the staging folder that differ from the repository: kustomize reads exactly what was
 * parsed here.
 */
export class ReplacedFiles {
  readonly #texts = new Map<string, string>();
  readonly #visited = new Set<string>();
  readonly #copies = new Map<string, { readonly snapshot: Snapshot; readonly node: FileNode }>();

  set(path: string, text: string): void {
    this.#texts.set(path, text);
  }

  /** Whether this is the first visit to the folder: overlays may name each other in a cycle. */
  isFirstVisit(folder: string, isConfig: boolean): boolean {
    const id = `${folder} ${String(isConfig)}`;
    const isFirst = !this.#visited.has(id);
    this.#visited.add(id);
    return isFirst;
  }

  /** @returns its path from `root`, the same for each use of a file */
  copy(root: string, from: string, content: { readonly snapshot: Snapshot; readonly node: FileNode }): string {
    const path = `${outsideFolder}/${from}`;
    this.copyTo(`${root}/${path}`, content);
    return path;
  }

  /** @param path from the staging folder */
  copyTo(path: string, content: { readonly snapshot: Snapshot; readonly node: FileNode }): void {
    this.#copies.set(path, content);
  }

  /** Replaces the files by these once they are read. */
  async over(unread: UnreadFiles, signal: AbortSignal): Promise<UnreadFiles> {
    let bytes = unread.bytes;
    for (const { snapshot, node } of this.#copies.values()) bytes += await bytesToRead(snapshot, [node], signal);
    for (const text of this.#texts.values()) bytes += text.length;
    return { bytes, read: async (inner) => this.#applied(await unread.read(inner), inner) };
  }

  async #applied({ files, links }: StagedFiles, signal: AbortSignal): Promise<StagedFiles> {
    const replaced = new Map<string, Uint8Array>();
    for (const [path, { snapshot, node }] of this.#copies)
      replaced.set(path, (await snapshot.read([node], signal)).get(node.oid) ?? new Uint8Array());
    for (const [path, text] of this.#texts) replaced.set(path, Buffer.from(text));
    const isKept = ({ path }: { readonly path: string }): boolean => !replaced.has(path);
    return {
      files: [...files.filter(isKept), ...[...replaced].map(([path, content]) => ({ path, content }))],
      links: links.filter(isKept),
    };
  }
}
