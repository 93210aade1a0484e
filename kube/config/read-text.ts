import { readFile } from 'node:fs/promises';
import { messageOf, outsideText, UsageError } from '#base';

/**
 * Reads a file that the user named.
 * @throws UsageError in one line that begins with `what`.
 */
export async function readText(file: string, what: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    throw new UsageError(`${what} ${code === 'ENOENT' ? 'does not exist' : `cannot be read: ${oneLine(error)}`}`, {
      cause: error,
    });
  }
}

/** The first line of an error's message, without credentials. */
export function oneLine(error: unknown): string {
  return outsideText('system', messageOf(error));
}
