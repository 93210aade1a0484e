import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The root folder of the checkout. */
export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/**
 * A jest pattern for the tests below a folder. It is anchored at the root: the path of the checkout
 * itself may contain the folder's name.
 */
export function testsBelow(folder) {
  return `^${join(root, folder).replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}/`;
}
