import { splitUserInfo } from '#base';
import type { Clock } from '#base';
import type { MetricRegistry } from '#telemetry';

/** A request to a Git server, as Argo CD's metrics name it. */
export type GitRequestType = 'ls-remote' | 'fetch';

export function isRequestType(command: string | undefined): command is GitRequestType {
  return command === 'ls-remote' || command === 'fetch';
}

/** Measures a request to a repository, by its address without credentials, however it ends. */
export type MeasureGit = <T>(repository: string, type: GitRequestType, request: Promise<T>) => Promise<T>;

/** Tenants choose repositories; those beyond this number share one series. */
const maxMeasuredRepositories = 1000;
/** The series of a repository end after this time without a request. */
const unusedRepositoryMs = 6 * 3_600_000;

/**
 * Argo CD's two metrics of Git servers, which its repo-server has (reposerver/metrics/metrics.go).
 */
export function gitMetrics(metrics: MetricRegistry, clock: Pick<Clock, 'monotonic'>): MeasureGit {
  const labels = ['repo', 'request_type'];
  const total = metrics.counter('argocd_git_request_total', 'Number of git requests performed by repo server', labels);
  const duration = metrics.histogram(
    'argocd_git_request_duration_seconds',
    'Git requests duration seconds.',
    [0.1, 0.25, 0.5, 1, 2, 4, 10, 20],
    labels,
  );
  /** By repository: the time of its last request. */
  const known = new Map<string, number>();
  const isUnused = (repo: string): boolean => {
    const usedAt = known.get(repo);
    if (usedAt !== undefined && clock.monotonic() - usedAt < unusedRepositoryMs) return false;
    known.delete(repo);
    return true;
  };
  for (const name of ['argocd_git_request_total', 'argocd_git_request_duration_seconds'])
    metrics.dropWhen(name, ({ repo }) => repo !== '' && isUnused(String(repo)));
  return (address, type, request) => {
    // A user name is no secret, but Argo CD's other metrics show none either.
    const repository = splitUserInfo(address).url;
    const started = clock.monotonic();
    if (known.has(repository) || known.size < maxMeasuredRepositories) known.set(repository, started);
    const repo = known.has(repository) ? repository : '';
    return request.finally(() => {
      total.inc({ repo, request_type: type });
      duration.observe((clock.monotonic() - started) / 1000, { repo, request_type: type });
    });
  };
}
