import type { RenderFile, RenderLink } from '../../render/types.ts';
import type { Selection } from './selection.ts';
import type { Snapshot } from './snapshot.ts';

/** Files and links for a staging folder. */
export interface StagedFiles {
  readonly files: readonly RenderFile[];
  readonly links: readonly RenderLink[];
}

/**
 * Reads the selected files and prefixes their paths with a folder. The selection has already
 * checked where links lead.
 */
export async function stagedFiles(
  snapshot: Snapshot,
  selection: Selection,
  folder: string,
  signal: AbortSignal,
): Promise<StagedFiles> {
  const contents = await snapshot.read([...selection.files.values()], signal);
  return {
    files: [...selection.files].map(([path, { oid }]) => ({
      path: `${folder}/${path}`,
      content: contents.get(oid) ?? new Uint8Array(),
    })),
    links: [...selection.links].map(([path, { target }]) => ({ path: `${folder}/${path}`, target })),
  };
}
