import { brokenCases as broken } from './broken.ts';
import { directoryCases } from './directory.ts';
import { brokenEdges, edgeCases } from './edges.ts';
import { helmCases } from './helm.ts';
import { kustomizeCases } from './kustomize.ts';
import { helmLayouts } from './layouts-helm.ts';
import { kustomizeLayouts } from './layouts-kustomize.ts';
import { layoutCases } from './layouts.ts';
import { brokenReports, reportedCases } from './reports.ts';
import { severalCases } from './several.ts';

export { differingCases, onlyOurs } from './differing.ts';
export type { CorpusCase, CorpusSource, SourceFiles } from './case.ts';

/** Sources that render. */
export const goodCases = [
  ...directoryCases,
  ...helmCases,
  ...kustomizeCases,
  ...severalCases,
  ...edgeCases,
  ...layoutCases,
  ...kustomizeLayouts,
  ...helmLayouts,
  ...reportedCases,
];

/** Sources that do not render. */
export const brokenCases = [...broken, ...brokenEdges, ...brokenReports];
