import base from './jest.config.mjs';

/** The tests of `npm run e2e`. One file at a time: each starts two API servers. */
export default {
  ...base,
  testMatch: ['<rootDir>/test/e2e/**/*.e2e.ts'],
  testTimeout: 120_000,
  maxWorkers: 1,
};
