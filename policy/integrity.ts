import { globMatch, isObject } from '#base';
import type { JsonObject } from '#base';
import type { ApplicationSource, AppProject, GitIntegrityPolicy } from '#model';
import { comparableUrl } from './git-url.ts';
import { listOf } from './readable.ts';

/** What a project demands of the commits of one repository. */
export interface GitIntegrity {
  /** `head`: the commit, or the annotated tag that was asked for. `strict`: the tag, the commit and all its ancestors. */
  readonly mode: 'head' | 'strict';
  /** IDs (16 digits) or fingerprints (40) of the keys that may sign. */
  readonly keys: readonly string[];
}

/**
 * The signatures that a project demands of a source; undefined: none. An error value where its rules cannot be used, which must refuse the
 * source (Argo CD: util/sourceintegrity, AppProject.EffectiveSourceIntegrity, with its texts).
 *
 * Only Git can be verified, so a Helm chart repository or an OCI artifact has no rule. `signatureKeys` is the old form of one policy for all
 * repositories in mode `head`; where `sourceIntegrity.git` is there too, that one counts alone.
 *
 * Differences: where no policy matches the URL as it is written, its other spellings are tried too (`.git`, case, ssh forms), because
 * `sourceRepos` lets them in; a policy without `gpg` is an error.
 */
export function gitIntegrity(
  project: AppProject,
  source: ApplicationSource,
): GitIntegrity | { readonly error: string } | undefined {
  if ((source.chart ?? '') !== '' || source.repoURL.startsWith('oci://')) return undefined;
  return integrityOf(project, source.repoURL);
}

/**
 * What a project demands of whatever comes under this URL. For manifests that come from no repository: that the source which they are said to
 * belong to is a chart makes them no chart.
 */
export function integrityOf(project: AppProject, url: string): GitIntegrity | { readonly error: string } | undefined {
  if (!isReadable(project))
    return { error: `the signature rules of project ${project.metadata.name ?? ''} cannot be read` };
  const policies = policiesOf(project);
  const asWritten = policies.filter((policy) => applies(policy, url, globMatch));
  const matching =
    asWritten.length > 0 ? asWritten : policies.filter((policy) => applies(policy, url, matchesSpelling));
  if (matching.length > 1)
    return {
      error: `multiple (${matching.length}) git source integrity policies found for repo URL: ${url}`,
    };
  const policy = matching[0];
  return policy === undefined ? undefined : demandOf(policy, url);
}

function policiesOf({ spec }: AppProject): readonly GitIntegrityPolicy[] {
  const explicit = spec.sourceIntegrity?.git;
  if (isSet(explicit)) return explicit.policies ?? [];
  const keys = (spec.signatureKeys ?? []).map(({ keyID }) => keyID ?? '');
  return keys.length === 0 ? [] : [{ repos: [{ url: '*' }], gpg: { mode: 'head', keys } }];
}

function demandOf({ gpg }: GitIntegrityPolicy, url: string): GitIntegrity | { readonly error: string } | undefined {
  if (!isSet(gpg)) return { error: `the git source integrity policy for repo URL ${url} has no gpg criteria` };
  const { mode = '', keys } = gpg;
  if (mode === 'none') return undefined;
  if (mode !== 'head' && mode !== 'strict')
    return { error: `unknown GPG mode "${mode}" configured for GIT source integrity` };
  return { mode, keys: keys ?? [] };
}

/** A `!pattern` that matches takes the repository out of the whole policy, wherever it stands. */
function applies(policy: GitIntegrityPolicy, url: string, matches: (pattern: string, url: string) => boolean): boolean {
  const patterns = (policy.repos ?? []).map((repo) => repo.url ?? '');
  const excluded = patterns.some((pattern) => pattern.startsWith('!') && matches(pattern.slice(1), url));
  return !excluded && patterns.some((pattern) => !pattern.startsWith('!') && matches(pattern, url));
}

function matchesSpelling(pattern: string, url: string): boolean {
  const comparable = comparableUrl(url);
  return comparable !== '' && globMatch(comparableUrl(pattern), comparable);
}

/** What an API server with the schema of the CRD never lets in: it must refuse the source, not throw. */
function isReadable({ spec }: AppProject): boolean {
  const objects = (value: unknown): boolean => listOf(value).every(isObject);
  const integrity: unknown = spec.sourceIntegrity ?? {};
  const git: unknown = isObject(integrity) ? (integrity['git'] ?? {}) : undefined;
  if (!isObject(git) || !objects(git['policies']) || !objects(spec.signatureKeys)) return false;
  return (listOf(git['policies']) as readonly JsonObject[]).every(
    ({ repos, gpg }) => objects(repos) && (gpg === undefined || gpg === null || isObject(gpg)),
  );
}

/** An API server that does not know the member passes null on. */
function isSet<T>(value: T | undefined | null): value is T {
  return value !== undefined && value !== null;
}
