// Hooks of Node's loader for tests (runner.mjs): TypeScript is compiled, and the module interfaces
// (#queues ...) resolve to their sources instead of dist/.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { transformSync } from '@swc/core';

const replaced = {
  '@jest/globals': new URL('globals.mjs', import.meta.url).href,
  // Properties use a fixed seed unless DRIFTLESS_SEED names another one.
  'fast-check': new URL('../../test/support/fast-check.mjs', import.meta.url).href,
};

export function resolve(specifier, context, next) {
  if (Object.hasOwn(replaced, specifier)) return { url: replaced[specifier], shortCircuit: true };
  if (!specifier.startsWith('#')) return next(specifier, context);
  return next(specifier, { ...context, conditions: ['source', ...context.conditions] });
}

/** Compiling all files takes two seconds of CPU, so nothing is kept on disk. */
export function load(url, context, next) {
  if (!url.endsWith('.ts')) return next(url, context);
  const filename = fileURLToPath(url);
  const { code } = transformSync(readFileSync(filename, 'utf8'), {
    filename,
    jsc: { parser: { syntax: 'typescript' }, target: 'es2022' },
    module: { type: 'es6' },
    sourceMaps: 'inline',
  });
  return { format: 'module', source: code, shortCircuit: true };
}
