import type { ApplicationSource, Repository } from '#model';
import { SourceFailed } from '../errors.ts';
import type { DesiredSource, ManifestsRequest, SourceManifests } from '../types.ts';

/** A request for one source, as a controller with an empty argocd-cm makes it. */
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
    noRevisionCache: false,
    noCache: false,
    appName: 'app',
    namespace: 'default',
    project: 'default',
    ...rest,
  };
}

/** The answer for a request of one source; an error is that of the source, without the wrapping. */
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
