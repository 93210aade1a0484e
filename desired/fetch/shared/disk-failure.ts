import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { CacheUnwritable } from '../../errors.ts';

const refusals: Readonly<Record<string, string>> = {
  ENOSPC: 'No space left on device',
  EDQUOT: 'Disk quota exceeded',
  EROFS: 'Read-only file system',
};

/** git does not print the reason if it cannot write its configuration. */
const refusalTexts = [...Object.values(refusals), 'failed to write new configuration file'];

/** Creates a folder with its parents. Node alone reports ENOENT if the disk is read-only. */
export async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { recursive: true, mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    let missing = path;
    while (!existsSync(dirname(missing))) missing = dirname(missing);
    await mkdir(missing, { mode: 0o700 });
    await mkdir(path, { recursive: true, mode: 0o700 });
  }
}

/**
 * Replaces the error of a disk that accepts no writes by one without a path; returns any other.
 * @param doing starts the message: "failed to read https://git/x"
 */
export function asDiskFailure(error: unknown, doing: string): unknown {
  const { code } = error as { readonly code?: unknown };
  const reason = typeof code === 'string' && Object.hasOwn(refusals, code) ? refusals[code] : undefined;
  return reason === undefined ? error : new CacheUnwritable(reason, { cause: error, doing });
}

/** The reason in git's output why the disk of the mirrors accepts no writes; undefined: none. */
export function diskRefusalIn(stderr: string): string | undefined {
  const lines = ownLines(stderr);
  return refusalTexts.find((text) => lines.some((line) => line.includes(text)));
}

/** The lines of git itself: a server's disk may be full as well. */
export function ownLines(stderr: string): readonly string[] {
  return stderr.split('\n').filter((line) => !/^\s*remote:|remote error:/.test(line));
}
