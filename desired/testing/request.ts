import type { ApplicationSource, Repository } from '#model';
import { SourceFailed } from '../errors.ts';
import type { CachePolicy, DesiredSource, ManifestsRequest, SourceManifests } from '../types.ts';

/** As most comparisons ask. */
export const allCached: CachePolicy = { revision: 'cached', manifests: 'cached' };
/** As a sync asks. */
export const currentRevision: CachePolicy = { revision: 'current', manifests: 'cached' };
/** Renders a cached revision again. */
export const renderedAgain: CachePolicy = { revision: 'cached', manifests: 'rerender' };

/** A request for one source, like a controller with an empty argocd-cm creates it. */
export function requestOf(
  source: ApplicationSource,
  repository: Repository,
  more: Partial<ManifestsRequest> & { readonly revision?: string } = {},
): ManifestsRequest {
  const { revision = source.targetRevision ?? '', ...rest } = more;
  return {
    sources: [{ source, repository, revision }],
    cluster: { kubeVersion: 'v1.33.1', apiVersions: ['apps/v1', 'apps/v1/Deployment', 'v1', 'v1/ConfigMap'] },
    repositories: { repositories: [], credentials: [] },
    options: {
      kustomizeBuildOptions: '',
      kustomizeVersions: {},
      valuesFileSchemes: ['https', 'http'],
      enabledTypes: {},
    },
    cache: allCached,
    appName: 'app',
    namespace: 'default',
    project: 'default',
    ...rest,
  };
}

/** The answer for a request of one source. Throws the source's own error, unwrapped. */
export async function renderOne(
  desired: DesiredSource,
  request: ManifestsRequest,
  signal: AbortSignal,
): Promise<SourceManifests> {
  const answer = await desired.manifests(request, signal).catch((error: unknown) => {
    throw error instanceof SourceFailed ? (error.cause as Error) : (error as Error);
  });
  const [first] = answer.sources;
  if (first === undefined) throw new Error('an answer without a source');
  return first;
}
