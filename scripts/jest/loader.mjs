// Hooks of Node's loader for tests (runner.mjs): they read TypeScript, and modules by their
// sources instead of dist/. What they compiled is kept, by its text.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transformSync, version } from '@swc/core';
import { root } from '../root.mjs';

const options = { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' }, module: { type: 'es6' } };
const replaced = {
  '@jest/globals': new URL('globals.mjs', import.meta.url).href,
  // Properties use a fixed seed unless DRIFTLESS_SEED names another one.
  'fast-check': new URL('../../test/support/fast-check.mjs', import.meta.url).href,
};
const cache = join(root, 'node_modules', '.cache', 'driftless', 'swc');
mkdirSync(cache, { recursive: true });

export function resolve(specifier, context, next) {
  if (Object.hasOwn(replaced, specifier)) return { url: replaced[specifier], shortCircuit: true };
  if (!specifier.startsWith('#')) return next(specifier, context);
  return next(specifier, { ...context, conditions: ['source', ...context.conditions] });
}

export function load(url, context, next) {
  if (!/\.ts(?:\?|$)/.test(url)) return next(url, context);
  return { format: 'module', source: compiled(fileURLToPath(url)), shortCircuit: true };
}

function compiled(path) {
  const text = readFileSync(path, 'utf8');
  const key = createHash('sha256')
    .update(`${version} ${JSON.stringify(options)} ${path} ${text}`)
    .digest('hex');
  const kept = join(cache, key);
  try {
    return readFileSync(kept, 'utf8');
  } catch {
    const { code } = transformSync(text, { ...options, filename: path, sourceMaps: 'inline' });
    // Another worker may compile the same file.
    writeFileSync(`${kept}.${process.pid}`, code);
    renameSync(`${kept}.${process.pid}`, kept);
    return code;
  }
}
