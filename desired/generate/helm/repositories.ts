import { normalizeGitUrl } from '#model';
import type { Repository } from '#model';
import { DesiredError } from '../../errors.ts';
import { repositoryKey } from '../../fetch/shared/repository-key.ts';
import type { ChartDependency } from './chart.ts';
import type { RenderJob } from '../plan.ts';

/**
 * The credentials that each dependency would be fetched with: manifests cached for one project must
 * not be returned to another that may not read their charts.
 */
export function dependenciesKey(job: RenderJob, dependencies: readonly ChartDependency[]): readonly string[] {
  const { repositories } = job.request.repositories;
  return dependencies.map(({ repository }) => {
    const alias = aliasIn(repository);
    const found = alias === undefined ? repositoryOf(job, repository) : repositories.find(({ name }) => name === alias);
    return found === undefined ? '' : repositoryKey(found);
  });
}

/**
 * The repository of a dependency, with the credentials that the project has for it (Argo CD:
 * getHelmDependencyRepos). Undefined for a chart in charts/ or by path.
 * @throws DesiredError for a name without a repository Secret
 */
export function repositoryOf({ request }: RenderJob, text: string): Repository | undefined {
  const { repositories, credentials } = request.repositories;
  const alias = aliasIn(text);
  if (alias !== undefined) {
    const repository = repositories.find(({ name }) => name === alias);
    if (repository !== undefined) return repository;
    throw new DesiredError(
      'DESIRED_RENDER',
      `the chart depends on the repository "${alias}" by its name: there is no repository Secret of this name that the project may use`,
    );
  }
  if (!/^(?:https?|oci):\/\//.test(text)) return undefined;
  const plain = text.replace(/^oci:\/\//, '');
  const same = repositories.find(({ url }) => normalizeGitUrl(url) === normalizeGitUrl(plain) || url === text);
  const lender = credentials
    .filter(({ url }) => isPrefix(url.replace(/^oci:\/\//, ''), plain))
    .sort((a, b) => b.url.length - a.url.length)[0];
  const none: Repository = { url: text, type: 'helm', insecure: false, inheritedCreds: false };
  return { ...(same ?? lender ?? none), url: text };
}

function aliasIn(repository: string): string | undefined {
  return /^(?:@|alias:)(.+)$/.exec(repository)?.[1];
}

/**
 * Compares whole segments: credentials for `https://host/team` do not apply to
 * `https://host/team-b`.
 */
function isPrefix(prefix: string, url: string): boolean {
  const clean = prefix.replace(/\/+$/, '');
  return url === clean || url.startsWith(`${clean}/`);
}
