import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { createToolLookup } from '#desired';

/** Samples that need a program: the folder in `examples`, and the Application's path in it. */
export const toolSamples = [
  { name: 'chart', tool: 'helm', path: '.' },
  { name: 'overlay', tool: 'kustomize', path: 'prod' },
  { name: 'jsonnet', tool: 'jsonnet', path: '.' },
] as const;

export interface DemoTools {
  /** Samples whose program was found. */
  readonly samples: readonly (typeof toolSamples)[number][];
  /** Programs that were not found. */
  readonly missing: readonly string[];
  /** PATH for the replicas, including the programs that were found. */
  readonly path: string;
  /** Folders of programs that were found elsewhere than on PATH. */
  readonly folders: readonly string[];
}

/** Finds helm, kustomize and jsonnet on PATH, or where `npm run e2e:setup` built them. */
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
    folders: [...new Set(folders)].filter((each) => !(env['PATH'] ?? '').split(':').includes(each)),
  };
}

/**
 * Names the samples that the demo skips because a program is missing: `10 of 13 samples (without
 * helm, kustomize, jsonnet)`. undefined: it skips none.
 */
export function leftOutText({ missing }: Pick<DemoTools, 'missing'>, samples: number): string | undefined {
  if (missing.length === 0) return undefined;
  return `${samples} of ${samples + missing.length} samples (without ${missing.join(', ')}; npm run e2e:setup builds them)`;
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}
