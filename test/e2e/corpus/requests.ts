import type { ManifestsRequest, RequestedSource } from '#desired';
import type { CorpusCase, CorpusSource } from './case.ts';
import type { SourceServers } from './places.ts';

/** The request of the controller for an Application of this case. */
export function requestOf(one: CorpusCase, places: SourceServers): ManifestsRequest {
  const { appName = 'app', namespace = 'default', buildOptions = '' } = one;
  const sources = (one.sources ?? [one.source ?? {}]).map((source) => requestedOf(source, one, places));
  return {
    sources,
    cluster: {
      kubeVersion: 'v1.33.1',
      apiVersions: one.apiVersions ?? ['apps/v1', 'apps/v1/Deployment', 'v1', 'v1/ConfigMap'],
    },
    repositories: { repositories: [], credentials: [] },
    options: {
      kustomizeBuildOptions: buildOptions,
      kustomizeVersions: {},
      valuesFileSchemes: ['https', 'http'],
      enabledTypes: {},
    },
    cache: { revision: 'cached', manifests: 'cached' },
    appName,
    namespace,
    project: 'default',
  };
}

function requestedOf(source: CorpusSource, { name }: CorpusCase, places: SourceServers): RequestedSource {
  const { at = 'git', repository: over, ...options } = source;
  const isOwnFolder = at === 'git' && source.chart === undefined && source.ref === undefined;
  const repository = { ...places.repository(at, name), ...over };
  const charts = places.repository('charts', name).url;
  const whole = { ...(isOwnFolder ? { path: name } : {}), ...options, repoURL: repository.url };
  const addressed = JSON.parse(JSON.stringify(whole).replaceAll('CHARTS', charts)) as typeof whole;
  return { source: addressed, repository, revision: source.targetRevision ?? '' };
}
