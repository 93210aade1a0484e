import { check } from '../options/checks.ts';

const maxBytes = 128;
/** Letters, marks, numbers, punctuation, symbols and spaces: Go calls them printable. */
const printable = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]+$/u;
/** The API server's own entry, for what an object had before its first server-side apply. */
const serverManager = 'before-first-apply';

/** Refuses a name that the API server does not accept. @throws UsageError */
export const mustBeFieldManager = check(
  `1 to ${maxBytes} bytes of printable text, and not ${serverManager}`,
  (name) =>
    typeof name === 'string' && printable.test(name) && Buffer.byteLength(name) <= maxBytes && name !== serverManager,
);
