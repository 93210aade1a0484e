import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../root.mjs';

export const packageName = '@driftless/engine';

/** Where the package is built, as it is published. */
export const packageFolder = join(root, 'dist', 'package');

/** The names behind `@driftless/engine/`: the files of engine/. */
export const doors = readdirSync(join(root, 'engine'))
  .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
  .map((name) => name.slice(0, -'.ts'.length));
