import base from './jest.config.mjs';

/**
 * The tests of `npm run e2e`. They wait more than they compute, so two files run at a time, each
 * with API servers of its own; `x.alone.e2e.ts` runs with the machine to itself (scripts/e2e/run.mjs).
 */
export default {
  ...base,
  testMatch: ['<rootDir>/test/e2e/**/*.e2e.ts'],
  testTimeout: 120_000,
  testSequencer: '<rootDir>/scripts/e2e/sequencer.mjs',
  maxWorkers: 2,
};
