import { globMatch, isObject } from '#base';
import { comparableAddress, isArtifact, isRefused, looseNames, readAddress } from '#model';
import type { ApplicationSource, AppProject, GitIntegrityPolicy, SourceAddress } from '#model';
import { repositoryPattern } from './git-url.ts';
import { entriesOrUnreadable, stringOrUndefined } from './readable.ts';

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
 * repositories in mode `head`; `sourceIntegrity.git` replaces it. Differences: a policy applies to
 * all names by which a server may know the repository, because `sourceRepos` accepts several; if
 * several policies do, the one for its text alone decides; a policy without `gpg` is an error.
 */
export function gitIntegrity(
  project: AppProject,
  source: ApplicationSource,
): GitIntegrity | { readonly error: string } | undefined {
  return (source.chart ?? '') !== '' || isArtifact(source) ? undefined : integrityOf(project, source.repoURL);
}

/**
 * Rules for everything under this URL, for manifests from outside a repository: a claimed chart
 * source does not exempt them. An address without a single reading is an error if there are rules.
 */
export function integrityOf(project: AppProject, url: string): GitIntegrity | { readonly error: string } | undefined {
  if (!hasReadableRules(project))
    return { error: `the signature rules of project ${project.metadata.name ?? ''} are invalid` };
  const policies = policiesOf(project);
  if (policies.length === 0) return undefined;
  const address = readAddress(url, 'any');
  if (isRefused(address)) return { error: `the address of the repository is refused: ${address.refused}` };
  const matching = matchingPolicies(policies, address);
  if (matching.length > 1)
    return {
      error: `multiple (${matching.length}) git source integrity policies found for repo URL: ${url}`,
    };
  const policy = matching[0];
  return policy === undefined ? undefined : demandOf(policy, url);
}

/** No choice of a spelling leads to fewer checks: exclusions from them are read narrowly. */
function matchingPolicies(
  policies: readonly GitIntegrityPolicy[],
  address: SourceAddress,
): readonly GitIntegrityPolicy[] {
  const isNamed = (pattern: string): boolean => {
    const { matchesExact, matchesLoose } = repositoryPattern(pattern, '');
    return (
      looseNames(address).some((name) => matchesLoose?.(name) === true) || matchesExact(comparableAddress(address))
    );
  };
  const isWritten = (pattern: string): boolean => globMatch(pattern, address.text);
  const byName = policies.filter((policy) =>
    appliesToRepository(policy, isNamed, policy.gpg?.mode === 'none' ? isNamed : isWritten),
  );
  if (byName.length < 2) return byName;
  const texts = [address.text, address.bare.text];
  const isText = (pattern: string): boolean => texts.some((text) => globMatch(pattern, text));
  const asWritten = policies.filter((policy) => appliesToRepository(policy, isText, isText));
  return asWritten.length === 1 ? asWritten : byName;
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
  includes: (pattern: string) => boolean,
  excludes: (pattern: string) => boolean,
): boolean {
  const patterns = (policy.repos ?? []).map((repo) => repo.url ?? '');
  if (patterns.some((pattern) => pattern.startsWith('!') && excludes(pattern.slice(1)))) return false;
  return patterns.some((pattern) => !pattern.startsWith('!') && includes(pattern));
}

/** Input that the CRD schema rejects must refuse the source, not throw. */
function hasReadableRules({ spec }: AppProject): boolean {
  const integrity: unknown = spec.sourceIntegrity ?? {};
  const git: unknown = isObject(integrity) ? (integrity['git'] ?? {}) : undefined;
  if (!isObject(git)) return false;
  const isKey = (key: unknown): boolean => isObject(key) && stringOrUndefined(key['keyID']) !== undefined;
  return (
    entriesOrUnreadable(git['policies']).every(isReadablePolicy) && entriesOrUnreadable(spec.signatureKeys).every(isKey)
  );
}

function isReadablePolicy(policy: unknown): boolean {
  if (!isObject(policy)) return false;
  const gpg = policy['gpg'] ?? {};
  const isRepository = (one: unknown): boolean => {
    const url = isObject(one) ? stringOrUndefined(one['url']) : undefined;
    return url !== undefined && repositoryPattern(url.replace(/^!/, ''), '').matchesLoose !== undefined;
  };
  return (
    isObject(gpg) &&
    stringOrUndefined(gpg['mode']) !== undefined &&
    entriesOrUnreadable(gpg['keys']).every((key) => typeof key === 'string') &&
    entriesOrUnreadable(policy['repos']).every(isRepository)
  );
}

/** An API server that does not know the member passes null through. */
function isSet<T>(value: T | undefined | null): value is T {
  return value !== undefined && value !== null;
}
