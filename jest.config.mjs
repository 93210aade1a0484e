/** @type {import('jest').Config} */
export default {
  testEnvironment: 'node',
  // "source" makes the public interfaces (#queues ...) resolve to TypeScript, not to dist.
  testEnvironmentOptions: { customExportConditions: ['source', 'node', 'node-addons'] },
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' }, module: { type: 'es6' }, sourceMaps: 'inline' },
    ],
  },
  // Properties are tried with the seed of the run, the same one each time unless it is told otherwise.
  moduleNameMapper: { '^fast-check$': '<rootDir>/test/support/fast-check.mjs' },
  testMatch: ['**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/', '/dist/'],
  modulePathIgnorePatterns: ['<rootDir>/dist/'],
  testTimeout: 20000,
  maxWorkers: 2,
  workerIdleMemoryLimit: '1GB',
};
