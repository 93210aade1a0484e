import { UsageError } from '#base';

const maxBytes = 128;
/** Letters, marks, numbers, punctuation, symbols and spaces: Go calls them printable. */
const printable = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]+$/u;
/** The API server's own entry, for what an object had before its first server-side apply. */
const serverManager = 'before-first-apply';

/**
 * The name, if the API server accepts it.
 * @throws UsageError
 */
export function checkFieldManager(name: string): string {
  const isValid =
    typeof name === 'string' && printable.test(name) && Buffer.byteLength(name) <= maxBytes && name !== serverManager;
  if (isValid) return name;
  throw new UsageError(`fieldManager must have 1 to ${maxBytes} bytes of printable text, and not be ${serverManager}`);
}
