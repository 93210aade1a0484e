export { brokenCases } from './broken.ts';
export type { CorpusCase, CorpusSource, Files } from './case.ts';
import { directoryCases } from './directory.ts';
import { helmCases } from './helm.ts';
import { kustomizeCases } from './kustomize.ts';
import { severalCases } from './several.ts';

/** Sources that render. */
export const goodCases = [...directoryCases, ...helmCases, ...kustomizeCases, ...severalCases];
