import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../root.mjs';

/** The names behind `driftless/`, from the exports of package.json. */
export const doors = Object.keys(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).exports)
  .filter((name) => name !== './package.json')
  .map((name) => name.slice(2));
