import { tenantOf } from '#base';
import type { Clock } from '#base';
import { DesiredError } from '../../errors.ts';
import type { VerifiedRevision, VerifyRequest } from '../../types.ts';
import type { GitRepository } from '../git/git-repository.ts';
import { Lru } from '../shared/lru.ts';
import { isFullSha } from '../git/refs.ts';
import type { ResolvedRef } from '../git/refs.ts';
import type { Keyring, BuiltKeyring } from './keyring.ts';
import {
  isTrusted,
  parseSeals,
  parseSignatures,
  parseStatus,
  problemsOf,
  sealFormat,
  signatureFormat,
  taggerOf,
} from './signatures.ts';
import type { RevisionSignature } from './signatures.ts';

export interface VerifierDeps {
  readonly clock: Clock;
  readonly keyring: Keyring;
  readonly ttlMs: number;
}

/** Memory for cached outcomes, and the number of newest seals that are examined. */
const outcomeCacheBytes = 8 * 1024 * 1024;
const maxSeals = 64;

/** One revision of a repository and the request to verify it. */
interface VerificationSubject {
  readonly repository: GitRepository;
  readonly commit: string;
  readonly tag: { readonly object: string; readonly name: string } | undefined;
  readonly ring: BuiltKeyring;
  readonly request: VerifyRequest;
  readonly signal: AbortSignal;
}

/**
 * Verifies OpenPGP signatures of commits and annotated tags (Argo CD: util/sourceintegrity,
 * util/git client.go LsSignatures). Mode `head` verifies the annotated tag if one was named, else
 * the commit. Mode `strict` verifies the tag, the commit and all ancestors, up to an ancestor with
 * a good signature and the trailer `Argocd-gpg-seal:`, which vouches for everything before it.
 * Differences: if a revision is already a commit, the tag named by the source is verified, so an
 * operation pinned to the commit of a signed tag is judged like the comparison before it. A seal
 * counts only if its key is allowed to sign.
 */
export class Verifier {
  readonly #deps: VerifierDeps;
  readonly #outcomes = new Lru<{ readonly problems: readonly string[]; readonly at: number }>(outcomeCacheBytes);

  constructor(deps: VerifierDeps) {
    this.#deps = deps;
  }

  async verify(repository: GitRepository, request: VerifyRequest, signal: AbortSignal): Promise<VerifiedRevision> {
    const ring = await this.#deps.keyring.ring(signal);
    const found = await repository.lookup(
      request.revision,
      request.cache.revision === 'cached' ? undefined : Infinity,
      signal,
      request.tagPrefix,
    );
    const commit = await repository.ensureCommit(found.commit, signal);
    const tag = await this.#tagOf(repository, request, { found, commit }, signal);
    const { mode, keys } = request;
    const key = JSON.stringify([repository.key, commit, tag?.object, tag?.name, mode, keys, ring.version]);
    const known = this.#outcomes.get(key);
    const now = this.#deps.clock.monotonic();
    if (known !== undefined && request.cache.manifests === 'cached' && now - known.at < this.#deps.ttlMs)
      return { revision: commit, problems: known.problems };
    const problems = await this.#problems({ repository, commit, tag, ring, request, signal });
    this.#outcomes.set(key, { problems, at: now }, 300 + 2 * problems.join('').length, tenantOf(signal).project);
    return { revision: commit, problems };
  }

  /**
   * Returns the annotated tag to verify: requested by name, by its own SHA, or named by the source
   * for this commit.
   */
  async #tagOf(
    repository: GitRepository,
    request: VerifyRequest,
    at: { readonly found: ResolvedRef; readonly commit: string },
    signal: AbortSignal,
  ): Promise<VerificationSubject['tag']> {
    const { found, commit } = at;
    const { revision, targetRevision = '' } = request;
    if (found.tag !== undefined)
      return this.#fetchTag(repository, { object: found.tag, name: revision }, commit, signal);
    if (found.commit !== commit) return { object: found.commit, name: revision };
    if (!isFullSha(revision) || targetRevision === '' || isFullSha(targetRevision)) return undefined;
    const named = await repository
      .lookup(targetRevision, undefined, signal, request.tagPrefix)
      .catch((error: unknown) => {
        // The name is gone, so the commit itself is verified.
        if (error instanceof DesiredError && error.code === 'DESIRED_REVISION') return undefined;
        throw error;
      });
    if (named?.tag === undefined || named.commit !== commit) return undefined;
    return this.#fetchTag(repository, { object: named.tag, name: targetRevision }, commit, signal);
  }

  /** Fetches the tag object and checks that it still points to this commit. */
  async #fetchTag(
    repository: GitRepository,
    tag: { readonly object: string; readonly name: string },
    commit: string,
    signal: AbortSignal,
  ): Promise<VerificationSubject['tag']> {
    if ((await repository.ensureCommit(tag.object, signal)) === commit) return tag;
    throw new DesiredError('DESIRED_REVISION', `the tag ${tag.name} no longer points to ${commit}: it was moved`);
  }

  async #problems(subject: VerificationSubject): Promise<string[]> {
    const { request, tag } = subject;
    const signatures: RevisionSignature[] = [];
    if (tag !== undefined) signatures.push(await tagSignature(subject, tag));
    if (request.mode === 'strict') signatures.push(...(await ancestors(subject)));
    else if (tag === undefined) signatures.push(...(await signaturesOf(subject, ['--no-walk', subject.commit])));
    // An empty result must never count as verified.
    if (signatures.length === 0)
      throw new DesiredError('DESIRED_SIGNATURE', `git reported no signature state of ${subject.commit}`);
    return problemsOf(signatures, request.keys);
  }
}

async function tagSignature(
  subject: VerificationSubject,
  tag: { readonly object: string; readonly name: string },
): Promise<RevisionSignature> {
  const { repository, ring, signal } = subject;
  const object = await repository.examine(['cat-file', 'tag', tag.object], `the tag ${tag.name}`, { signal });
  const result = await repository.inspect(['verify-tag', '--raw', tag.object], { signal, keyring: ring.home });
  return { revision: tag.name, isTag: true, author: taggerOf(object), ...parseStatus(result) };
}

/** Returns the signatures of all commits up to a root or a good seal. */
async function ancestors(subject: VerificationSubject): Promise<RevisionSignature[]> {
  const { repository, commit, request, signal } = subject;
  await repository.ensureHistory(commit, signal);
  const what = `the history of ${commit}`;
  const marked = parseSeals(await repository.examine(['log', `--format=${sealFormat}`, commit], what, { signal }));
  const candidates = marked.slice(0, maxSeals);
  const looked = candidates.length === 0 ? [] : await signaturesOf(subject, ['--no-walk=unsorted', ...candidates]);
  const seals = looked.filter((one) => isTrusted(one, request.keys)).map((one) => `${one.revision}^@`);
  return signaturesOf(subject, [commit, ...(seals.length === 0 ? [] : ['--not', ...seals])]);
}

async function signaturesOf(subject: VerificationSubject, which: readonly string[]): Promise<RevisionSignature[]> {
  const { repository, commit, ring, signal } = subject;
  const args = ['log', '--no-show-signature', '--no-mailmap', `--format=${signatureFormat}`, ...which];
  const what = `the signatures of ${commit}`;
  return parseSignatures(await repository.examine(args, what, { signal, keyring: ring.home }));
}
