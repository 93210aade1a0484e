import base from './jest.config.mjs';

/** The tests of `npm run e2e`, one file after the other: each has two API servers of its own, and the machine may have two cores. */
export default {
  ...base,
  testMatch: ['<rootDir>/test/e2e/**/*.e2e.ts'],
  testTimeout: 120_000,
  maxWorkers: 1,
};
