import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { createToolLookup } from '#desired';

/** Samples that a program renders: the folder of `examples`, and the path of the application in it. */
export const toolSamples = [
  { name: 'chart', tool: 'helm', path: '.' },
  { name: 'overlay', tool: 'kustomize', path: 'prod' },
  { name: 'jsonnet', tool: 'jsonnet', path: '.' },
] as const;

export interface DemoTools {
  /** The samples whose program is here. */
  readonly samples: readonly (typeof toolSamples)[number][];
  /** Programs that are nowhere. */
  readonly missing: readonly string[];
  /** A PATH for the replicas on which those that were found lie. */
  readonly path: string;
}

/** Finds helm, kustomize and jsonnet on PATH, or where `npm run e2e:setup` has built them. */
export function demoTools(env: Readonly<Record<string, string | undefined>>): DemoTools {
  const cache = nonEmpty(env['XDG_CACHE_HOME']) ?? join(homedir(), '.cache');
  const folder = nonEmpty(env['DRIFTLESS_E2E_CACHE']) ?? join(cache, 'driftless', 'e2e');
  const lookup = createToolLookup({ path: env['PATH'], folders: [folder] });
  const found = toolSamples.map(({ tool }) => lookup(tool));
  const folders = found.flatMap((path) => (path === undefined ? [] : [dirname(path)]));
  return {
    samples: toolSamples.filter((_, i) => found[i] !== undefined),
    missing: toolSamples.filter((_, i) => found[i] === undefined).map(({ tool }) => tool),
    path: [env['PATH'] ?? '', ...folders].join(':'),
  };
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}
