import { globMatch, isObject } from '#base';
import type { JsonObject } from '#base';
import type { ApplicationSource, AppProject, GitIntegrityPolicy } from '#model';
import { comparableUrl } from './git-url.ts';
import { entriesOrUnreadable } from './readable.ts';

/** Signatures that a project requires of a repository's commits. */
export interface GitIntegrity {
  /**
   * `head`: the commit or annotated tag that was requested. `strict`: the tag, the commit and all
   * its ancestors.
   */
  readonly mode: 'head' | 'strict';
  /** IDs (16 digits) or fingerprints (40 digits) of the keys that may sign. */
  readonly keys: readonly string[];
}

/**
 * Returns the signatures that a project requires of a source; undefined: none. Unusable rules are
 * an error, which must refuse the source (Argo CD: util/sourceintegrity,
 * AppProject.EffectiveSourceIntegrity, with its texts). Only Git can be verified: Helm repositories
 * and OCI artifacts have no rules. `signatureKeys` is the old form of one policy for all
 * repositories in mode `head`; `sourceIntegrity.git` replaces it. Differences: if no policy matches
 * the URL as written, its other spellings are tried too (`.git`, case, ssh forms), because
 * `sourceRepos` accepts them; a policy without `gpg` is an error.
 */
export function gitIntegrity(
  project: AppProject,
  source: ApplicationSource,
): GitIntegrity | { readonly error: string } | undefined {
  if ((source.chart ?? '') !== '' || source.repoURL.startsWith('oci://')) return undefined;
  return integrityOf(project, source.repoURL);
}

/**
 * Rules for everything under this URL, for manifests from outside a repository: a claimed chart
 * source does not exempt them.
 */
export function integrityOf(project: AppProject, url: string): GitIntegrity | { readonly error: string } | undefined {
  if (!hasReadableRules(project))
    return { error: `the signature rules of project ${project.metadata.name ?? ''} are invalid` };
  const policies = policiesOf(project);
  const asWritten = policies.filter((policy) => appliesToRepository(policy, url, globMatch));
  const matching =
    asWritten.length > 0 ? asWritten : policies.filter((policy) => appliesToRepository(policy, url, matchesSpelling));
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

/** A matching `!pattern` excludes the repository from the whole policy, wherever it stands. */
function appliesToRepository(
  policy: GitIntegrityPolicy,
  url: string,
  matches: (pattern: string, url: string) => boolean,
): boolean {
  const patterns = (policy.repos ?? []).map((repo) => repo.url ?? '');
  const excluded = patterns.some((pattern) => pattern.startsWith('!') && matches(pattern.slice(1), url));
  return !excluded && patterns.some((pattern) => !pattern.startsWith('!') && matches(pattern, url));
}

function matchesSpelling(pattern: string, url: string): boolean {
  const comparable = comparableUrl(url);
  return comparable !== '' && globMatch(comparableUrl(pattern), comparable);
}

/** Input that the CRD schema rejects must refuse the source, not throw. */
function hasReadableRules({ spec }: AppProject): boolean {
  const objects = (value: unknown): boolean => entriesOrUnreadable(value).every(isObject);
  const integrity: unknown = spec.sourceIntegrity ?? {};
  const git: unknown = isObject(integrity) ? (integrity['git'] ?? {}) : undefined;
  if (!isObject(git) || !objects(git['policies']) || !objects(spec.signatureKeys)) return false;
  return (entriesOrUnreadable(git['policies']) as readonly JsonObject[]).every(
    ({ repos, gpg }) => objects(repos) && (gpg === undefined || gpg === null || isObject(gpg)),
  );
}

/** An API server that does not know the member passes null through. */
function isSet<T>(value: T | undefined | null): value is T {
  return value !== undefined && value !== null;
}
