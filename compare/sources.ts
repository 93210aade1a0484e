import { hasMultipleSources, sourceOf } from '#model';
import type { ApplicationSpec, ComparedTo } from '#model';
import { equalLoosely, equalSourceLists, equalSources } from './source-equality.ts';

/**
 * The value of `status.sync.comparedTo`. Keeps the stored value if it means the same: Argo CD
 * writes the source as its types decode it (`jsonnet: {}`), and rewriting it would be a needless
 * patch.
 */
export function comparedToOf(spec: ApplicationSpec, stored?: ComparedTo): ComparedTo {
  const fresh = freshlyComparedTo(spec);
  return stored !== undefined && meansTheSame(stored, fresh) ? stored : fresh;
}

function meansTheSame(a: ComparedTo, b: ComparedTo): boolean {
  return (
    equalSources(a.source, b.source) &&
    equalSourceLists(a.sources, b.sources) &&
    equalLoosely(a.destination, b.destination) &&
    equalLoosely(a.ignoreDifferences, b.ignoreDifferences)
  );
}

function freshlyComparedTo(spec: ApplicationSpec): ComparedTo {
  return {
    source: hasMultipleSources(spec) ? { repoURL: '' } : sourceOf(spec),
    ...(hasMultipleSources(spec) ? { sources: spec.sources ?? [] } : {}),
    destination: spec.destination,
    ...((spec.ignoreDifferences?.length ?? 0) > 0 ? { ignoreDifferences: spec.ignoreDifferences ?? [] } : {}),
  };
}
