// Reads the options of `driftless run` from cli/options/ without a build, for the generators of
// chart and docs.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

/** The options of `driftless run` in the order of --help. */
export async function readOptions(root) {
  const { runOptions } = await import(moduleUrl(root, 'run-options.ts'));
  return Object.values(runOptions);
}

/** The options that only Driftless has. */
export async function readDriftlessOptions(root) {
  const { driftlessOptions } = await import(moduleUrl(root, 'driftless-options.ts'));
  return Object.values(driftlessOptions);
}

/**
 * A file of cli/options/ as a data URL with its imports inlined. The compiler erases type imports.
 */
function moduleUrl(root, file) {
  const { outputText } = ts.transpileModule(readFileSync(join(root, 'cli', 'options', file), 'utf8'), {
    compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 },
  });
  const whole = outputText.replaceAll(/(?<=from ')\.\/([^']+)(?=')/g, (_, other) => moduleUrl(root, other));
  return `data:text/javascript;base64,${Buffer.from(whole).toString('base64')}`;
}

/** A default as written on the command line. */
export function defaultText({ kind, default: value }) {
  if (kind === 'seconds' && value % 1000 === 0) return String(value / 1000);
  if (kind === 'seconds' || kind === 'duration') return value % 1000 === 0 ? `${value / 1000}s` : `${value}ms`;
  if (kind === 'csv' || kind === 'list') return value.join(',');
  if (kind === 'map') return '';
  return String(value);
}
