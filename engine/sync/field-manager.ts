import { UsageError } from '#base';
import type { OptionRule } from './option-rules.ts';

const maxBytes = 128;
/** Letters, marks, numbers, punctuation, symbols and spaces: Go calls them printable. */
const printable = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]+$/u;
/** The API server's own entry, for what an object had before its first server-side apply. */
const serverManager = 'before-first-apply';

export const aFieldManager: OptionRule = {
  valid: `1 to ${maxBytes} bytes of printable text, and not ${serverManager}`,
  accepts: isFieldManager,
};

/**
 * The name, if the API server accepts it.
 * @throws UsageError
 */
export function checkFieldManager(name: string): string {
  if (isFieldManager(name)) return name;
  throw new UsageError(`fieldManager must be ${aFieldManager.valid}`);
}

function isFieldManager(name: unknown): boolean {
  return (
    typeof name === 'string' && printable.test(name) && Buffer.byteLength(name) <= maxBytes && name !== serverManager
  );
}
