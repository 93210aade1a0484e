import type { Clock } from '#base';
import { DesiredError } from '../errors.ts';
import type { Verified, VerifyRequest } from '../types.ts';
import type { GitRepository } from './git-repository.ts';
import { Lru } from './lru.ts';
import { isFullSha } from './refs.ts';
import type { Found } from './refs.ts';
import type { Keyring, Ring } from './keyring.ts';
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
import type { Signature } from './signatures.ts';

export interface VerifierDeps {
  readonly clock: Clock;
  readonly keyring: Keyring;
  readonly ttlMs: number;
}

/** Memory for outcomes that are remembered; seals that are looked at, the newest ones. */
const rememberedOutcomes = 8 * 1024 * 1024;
const mostSeals = 64;

/** One revision of one repository, with what is to be verified of it. */
interface Subject {
  readonly repository: GitRepository;
  readonly commit: string;
  readonly tag: { readonly object: string; readonly name: string } | undefined;
  readonly ring: Ring;
  readonly request: VerifyRequest;
  readonly signal: AbortSignal;
}

/**
 * Verifies OpenPGP signatures of commits and annotated tags (Argo CD: util/sourceintegrity, util/git client.go LsSignatures). In mode `head`
 * an annotated tag that was asked for by name is verified, else the commit. In mode `strict` the tag, the commit and all its ancestors, as far
 * as no ancestor with a good signature carries the trailer `Argocd-gpg-seal:`, which vouches for everything before it.
 *
 * Differences: a revision that is a commit already is looked for under the tag that the source names, so that an operation that was pinned to
 * the commit of a signed tag is judged as the comparison before it was. A seal counts only when its key may sign.
 */
export class Verifier {
  readonly #deps: VerifierDeps;
  readonly #outcomes = new Lru<{ readonly problems: readonly string[]; readonly at: number }>(rememberedOutcomes);

  constructor(deps: VerifierDeps) {
    this.#deps = deps;
  }

  async verify(repository: GitRepository, request: VerifyRequest, signal: AbortSignal): Promise<Verified> {
    const ring = await this.#deps.keyring.ring(signal);
    const found = await repository.lookup(
      request.revision,
      request.noRevisionCache ? Infinity : undefined,
      signal,
      request.tagPrefix,
    );
    const commit = await repository.ensureCommit(found.commit, signal);
    const tag = await this.#tagOf(repository, request, { found, commit }, signal);
    const { mode, keys } = request;
    const key = JSON.stringify([repository.key, commit, tag?.object, tag?.name, mode, keys, ring.version]);
    const known = this.#outcomes.get(key);
    const now = this.#deps.clock.monotonic();
    if (known !== undefined && !request.noCache && now - known.at < this.#deps.ttlMs)
      return { revision: commit, problems: known.problems };
    const problems = await this.#problems({ repository, commit, tag, ring, request, signal });
    this.#outcomes.set(key, { problems, at: now }, 300 + 2 * problems.join('').length);
    return { revision: commit, problems };
  }

  /** The annotated tag to verify: the one asked for by name or by its own SHA, or the one that led to this commit. */
  async #tagOf(
    repository: GitRepository,
    request: VerifyRequest,
    at: { readonly found: Found; readonly commit: string },
    signal: AbortSignal,
  ): Promise<Subject['tag']> {
    const { found, commit } = at;
    const { revision, targetRevision = '' } = request;
    if (found.tag !== undefined)
      return this.#brought(repository, { object: found.tag, name: revision }, commit, signal);
    if (found.commit !== commit) return { object: found.commit, name: revision };
    if (!isFullSha(revision) || targetRevision === '' || isFullSha(targetRevision)) return undefined;
    const named = await repository
      .lookup(targetRevision, undefined, signal, request.tagPrefix)
      .catch((error: unknown) => {
        // The name is gone; the commit must stand for itself.
        if (error instanceof DesiredError && error.code === 'DESIRED_REVISION') return undefined;
        throw error;
      });
    if (named?.tag === undefined || named.commit !== commit) return undefined;
    return this.#brought(repository, { object: named.tag, name: targetRevision }, commit, signal);
  }

  /** Brings the tag object, and makes sure that it is one of this very commit. */
  async #brought(
    repository: GitRepository,
    tag: { readonly object: string; readonly name: string },
    commit: string,
    signal: AbortSignal,
  ): Promise<Subject['tag']> {
    if ((await repository.ensureCommit(tag.object, signal)) === commit) return tag;
    throw new DesiredError('DESIRED_REVISION', `the tag ${tag.name} does not lead to ${commit} any more: it was moved`);
  }

  async #problems(subject: Subject): Promise<string[]> {
    const { request, tag } = subject;
    const signatures: Signature[] = [];
    if (tag !== undefined) signatures.push(await tagSignature(subject, tag));
    if (request.mode === 'strict') signatures.push(...(await ancestors(subject)));
    else if (tag === undefined) signatures.push(...(await signaturesOf(subject, ['--no-walk', subject.commit])));
    // Nothing looked at must never mean that all is well.
    if (signatures.length === 0)
      throw new DesiredError(
        'DESIRED_SIGNATURE',
        `git shows no signature of ${subject.commit}, not even that there is none`,
      );
    return problemsOf(signatures, request.keys);
  }
}

async function tagSignature(
  subject: Subject,
  tag: { readonly object: string; readonly name: string },
): Promise<Signature> {
  const { repository, ring, signal } = subject;
  const object = await repository.examine(['cat-file', 'tag', tag.object], `the tag ${tag.name}`, { signal });
  const result = await repository.inspect(['verify-tag', '--raw', tag.object], { signal, keyring: ring.home });
  return { revision: tag.name, isTag: true, author: taggerOf(object), ...parseStatus(result) };
}

/** All commits up to a root or a good seal. */
async function ancestors(subject: Subject): Promise<Signature[]> {
  const { repository, commit, request, signal } = subject;
  await repository.ensureHistory(commit, signal);
  const what = `the history of ${commit}`;
  const marked = parseSeals(await repository.examine(['log', `--format=${sealFormat}`, commit], what, { signal }));
  const candidates = marked.slice(0, mostSeals);
  const looked = candidates.length === 0 ? [] : await signaturesOf(subject, ['--no-walk=unsorted', ...candidates]);
  const seals = looked.filter((one) => isTrusted(one, request.keys)).map((one) => `${one.revision}^@`);
  return signaturesOf(subject, [commit, ...(seals.length === 0 ? [] : ['--not', ...seals])]);
}

async function signaturesOf(subject: Subject, which: readonly string[]): Promise<Signature[]> {
  const { repository, commit, ring, signal } = subject;
  const args = ['log', '--no-show-signature', '--no-mailmap', `--format=${signatureFormat}`, ...which];
  const what = `the signatures of ${commit}`;
  return parseSignatures(await repository.examine(args, what, { signal, keyring: ring.home }));
}
