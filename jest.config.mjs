/** @type {import('jest').Config} */
export default {
  testEnvironment: 'node',
  // The condition "source" resolves module interfaces (#queues ...) to TypeScript, not to dist/.
  testEnvironmentOptions: { customExportConditions: ['source', 'node', 'node-addons'] },
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' }, module: { type: 'es6' }, sourceMaps: 'inline' },
    ],
  },
  // Properties use a fixed seed unless DRIFTLESS_SEED names another one.
  moduleNameMapper: { '^fast-check$': '<rootDir>/test/support/fast-check.mjs' },
  testMatch: ['**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/', '/dist/'],
  modulePathIgnorePatterns: ['<rootDir>/dist/'],
  reporters: ['default', '<rootDir>/scripts/jest/report.mjs'],
  testTimeout: 120_000,
  restoreMocks: true,
  maxWorkers: 2,
  workerIdleMemoryLimit: '1GB',
};
