import base from './jest.config.mjs';

/** The tests of `npm run browser`. One file at a time: each starts a browser. */
export default {
  ...base,
  testMatch: ['<rootDir>/test/browser/**/*.browser.ts'],
  testTimeout: 90_000,
  maxWorkers: 1,
};
