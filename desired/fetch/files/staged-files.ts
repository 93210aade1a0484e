import type { RenderFile, RenderLink } from '../../render/types.ts';
import type { Selection } from './selection.ts';
import { bytesToRead } from './snapshot.ts';
import type { Snapshot } from './snapshot.ts';

/** Files and links for a staging folder. */
export interface StagedFiles {
  readonly files: readonly RenderFile[];
  readonly links: readonly RenderLink[];
}

/** Files for a staging folder that are not in memory yet. */
export interface UnreadFiles {
  /** Memory that reading them takes. */
  readonly bytes: number;
  readonly read: (signal: AbortSignal) => Promise<StagedFiles>;
}

/**
 * Measures the selected files, and prefixes their paths with a folder when they are read. The
 * selection has already checked where links lead.
 */
export async function unreadFiles(
  snapshot: Snapshot,
  selection: Selection,
  folder: string,
  signal: AbortSignal,
): Promise<UnreadFiles> {
  const nodes = [...selection.files.values()];
  return {
    bytes: await bytesToRead(snapshot, nodes, signal),
    read: async (inner) => {
      const contents = await snapshot.read(nodes, inner);
      return {
        files: [...selection.files].map(([path, { oid }]) => ({
          path: `${folder}/${path}`,
          content: contents.get(oid) ?? new Uint8Array(),
        })),
        links: [...selection.links].map(([path, { target }]) => ({ path: `${folder}/${path}`, target })),
      };
    },
  };
}

/** Several groups of files as one. They are read one after the other. */
export function joinedFiles(groups: readonly UnreadFiles[]): UnreadFiles {
  return {
    bytes: groups.reduce((sum, { bytes }) => sum + bytes, 0),
    read: async (signal) => {
      const files: RenderFile[] = [];
      const links: RenderLink[] = [];
      for (const group of groups) {
        const read = await group.read(signal);
        for (const file of read.files) files.push(file);
        for (const link of read.links) links.push(link);
      }
      return { files, links };
    },
  };
}

/** Files that are in memory already. */
export function inMemory(staged: StagedFiles): UnreadFiles {
  const bytes = staged.files.reduce((sum, { content }) => sum + content.length, 0);
  return { bytes, read: () => Promise.resolve(staged) };
}
