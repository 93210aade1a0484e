import base from './jest.config.mjs';

/** The suites of `npm test` (scripts/jest/suites.mjs). */
export default {
  ...base,
  testEnvironment: '<rootDir>/scripts/jest/suite-environment.mjs',
  testSequencer: '<rootDir>/scripts/jest/suite-sequencer.mjs',
  testMatch: ['<rootDir>/build/suites/*.suite.mjs'],
};
