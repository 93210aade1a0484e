import base from './jest.config.mjs';

/** The tests of policy/ with coverage, which needs modules that jest itself loads. */
export default {
  ...base,
  testEnvironment: 'node',
  // The condition "source" resolves module interfaces (#queues ...) to TypeScript, not to dist/.
  testEnvironmentOptions: { customExportConditions: ['source', 'node', 'node-addons'] },
  testRunner: 'jest-circus/runner',
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' }, module: { type: 'es6' }, sourceMaps: 'inline' },
    ],
  },
  moduleNameMapper: { '^fast-check$': '<rootDir>/test/support/fast-check.mjs' },
};
