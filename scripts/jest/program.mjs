import { join } from 'node:path';
import { root } from '../root.mjs';

/** The arguments of Node that start jest. */
export const jestProgram = [
  '--experimental-vm-modules',
  '--no-warnings',
  join(root, 'node_modules', 'jest', 'bin', 'jest.js'),
];
