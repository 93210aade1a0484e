import { hasMultipleSources, sourceOf } from '#model';
import type { ApplicationSpec, ComparedTo } from '#model';

/** What a comparison was made against, to be stored in `status.sync.comparedTo`. */
export function comparedToOf(spec: ApplicationSpec): ComparedTo {
  return {
    source: hasMultipleSources(spec) ? { repoURL: '' } : sourceOf(spec),
    ...(hasMultipleSources(spec) ? { sources: spec.sources ?? [] } : {}),
    destination: spec.destination,
    ...((spec.ignoreDifferences?.length ?? 0) > 0 ? { ignoreDifferences: spec.ignoreDifferences ?? [] } : {}),
  };
}
