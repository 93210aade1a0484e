import base from './jest.config.mjs';

/** The tests of `npm run e2e:node`: one cluster with one node. */
export default {
  ...base,
  testMatch: ['<rootDir>/test/e2e-node/**/*.e2e.ts'],
  testTimeout: 180_000,
  maxWorkers: 1,
};
