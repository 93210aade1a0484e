// The name of a test file says which command runs it: `npm test` runs `x.test.ts`. The other names
// are below. `npm test -- FOLDER` runs all tests of a folder.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './root.mjs';

/**
 * slow: takes long or starts processes (`npm run test:slow`). alone: the same, with the processors
 * to itself. tools: needs helm, kustomize or jsonnet (`npm run test:tools`). bench: all benchmarks
 * at smoke size. long: minutes of computing (`npm run nightly`).
 */
const otherTests = testsOfKind('slow', 'alone', 'tools', 'bench', 'long');

/** A jest pattern for the test files of one kind. */
export function testsOfKind(...kinds) {
  return String.raw`\.(?:${kinds.join('|')})\.test\.ts$`;
}

/** The jest options that leave out what `npm test` does not run. */
export function quickOnly() {
  return ['/node_modules/', '/dist/', otherTests].map((pattern) => `--testPathIgnorePatterns=${pattern}`);
}

/** Test files with tests that are left out where helm, kustomize or jsonnet is missing. */
export function testsWithTools() {
  return testFiles(root).filter(
    (path) => path.endsWith('.tools.test.ts') || /\b\w+WithTool\(|DRIFTLESS_TOOLS/.test(readFileSync(path, 'utf8')),
  );
}

/** The paths of all test files below a folder. */
export function testFiles(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.name.startsWith('.') || entry.name === 'node_modules' || entry.name === 'dist') return [];
    if (entry.isDirectory()) return testFiles(path);
    return entry.name.endsWith('.test.ts') ? [path] : [];
  });
}
