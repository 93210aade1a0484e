// Reads the options of `driftless run` from cli/options/, for the generators of chart and docs.
import { importSource } from './generated.mjs';

/** The options of `driftless run` in the order of --help. */
export async function readOptions() {
  return withDefaults((await importSource('cli/options/run-options.ts')).runOptions);
}

/** The options that only Driftless has. */
export async function readDriftlessOptions() {
  return withDefaults((await importSource('cli/options/driftless-options.ts')).driftlessOptions);
}

async function withDefaults(table) {
  const { defaultOf } = await importSource('cli/options/args.ts');
  return Object.values(table).map((option) => ({ ...option, default: defaultOf(option) }));
}

/** A default as written in the environment variable, and so in its ConfigMap key. */
export function environmentDefault({ envKind, ...option }) {
  return defaultText({ ...option, kind: envKind ?? option.kind });
}

/** A default as written on the command line. */
export function defaultText({ kind, default: value }) {
  if (kind === 'seconds' && value % 1000 === 0) return String(value / 1000);
  if (kind === 'seconds' || kind === 'duration') return value % 1000 === 0 ? `${value / 1000}s` : `${value}ms`;
  if (kind === 'csv' || kind === 'list') return value.join(',');
  if (kind === 'map') return '';
  return String(value);
}
