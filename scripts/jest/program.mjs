import { join } from 'node:path';
import { root } from '../root.mjs';

/** The arguments of Node that start jest. */
export const jestProgram = ['--no-warnings', join(root, 'node_modules', 'jest', 'bin', 'jest.js')];

/** The same for coverage, which jest measures only in modules that it loads itself. */
export const jestWithCoverage = [
  '--experimental-vm-modules',
  ...jestProgram,
  '--config',
  join(root, 'jest.coverage.config.mjs'),
  '--coverage',
];
