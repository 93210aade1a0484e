/** @type {import('jest').Config} */
export default {
  testEnvironment: '<rootDir>/scripts/jest/environment.mjs',
  testRunner: '<rootDir>/scripts/jest/runner.mjs',
  transform: {},
  testMatch: ['**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/', '/dist/'],
  modulePathIgnorePatterns: ['<rootDir>/dist/'],
  reporters: ['default', '<rootDir>/scripts/jest/report.mjs'],
  testTimeout: 120_000,
  restoreMocks: true,
  maxWorkers: 2,
  workerIdleMemoryLimit: '1GB',
};
