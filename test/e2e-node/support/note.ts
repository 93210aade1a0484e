import { writeSync } from 'node:fs';

/** Prints a measurement at once, past jest's buffer. */
export function note(text: string): void {
  writeSync(2, `e2e:node: ${text}\n`);
}
