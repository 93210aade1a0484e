import { isObject } from '#base';
import type { CorpusCase } from '../corpus/index.ts';

/**
 * Differences on purpose, by row of docs/compatibility.md: the Applications with which we render
 * what Argo CD renders for the given one.
 */
export const explainedDifferences: Readonly<Record<string, (one: CorpusCase) => readonly CorpusCase[]>> = {
  'Kustomize: `ignoreMissingComponents` with several components': (one) => {
    const kustomize = one.source?.kustomize;
    const components = kustomize?.['components'];
    if (!isObject(kustomize) || kustomize['ignoreMissingComponents'] !== true || !Array.isArray(components)) return [];
    return components.map((component) => ({
      ...one,
      source: { ...one.source, kustomize: { ...kustomize, components: [component] } },
    }));
  },
};
