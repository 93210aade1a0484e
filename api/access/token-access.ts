import { createHash } from 'node:crypto';
import { isObject, newAbortController, withDeadline } from '#base';
import type { Clock, Json } from '#base';
import { apiResource } from '#kube';
import type { KubeClient } from '#kube';
import { jsonOf } from '#model';
import type { KubeObject } from '#model';
import type { Logger } from '#telemetry';
import { ApiFault } from '../fault.ts';
import { ExpiringMap } from './expiring-map.ts';
import type { Viewer } from './viewer.ts';

export interface TokenAccessDeps {
  /** Client of the hub. */
  readonly client: Pick<KubeClient, 'create'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

const tokenReview = apiResource('authentication.k8s.io/v1', 'TokenReview', 'tokenreviews', 'cluster');
const accessReview = apiResource('authorization.k8s.io/v1', 'SubjectAccessReview', 'subjectaccessreviews', 'cluster');

/** How long an answer of the API server is believed: a revoked token works that much longer. */
export const reviewTtlMs = 10_000;
const reviewDeadlineMs = 5000;
/** Reviews under way at a time; more callers are refused instead of queued. */
const maxReviews = 32;
/** Unknown tokens leave the rest of them to callers that are known. */
const maxTokenReviews = 24;
const maxKnownTokens = 1000;
const maxKnownAccesses = 20_000;
/** Requests of one user: a burst, and what comes after it. */
const burst = 60;
const perSecond = 20;
const maxTokenLength = 8192;

/** The caller as the API server names it. */
interface KnownUser {
  readonly user: Json;
  readonly shown: string;
}

/**
 * Finds out by TokenReview who sends a token, and by SubjectAccessReview whether that user may get
 * Applications in a namespace. If the API server does not answer, nothing is shown. Tokens are kept
 * as hashes only.
 */
export class TokenAccess {
  readonly #deps: TokenAccessDeps;
  readonly #users: ExpiringMap<KnownUser>;
  /** Apart from known users, whom a flood of invalid tokens must not evict. */
  readonly #reviewed: ExpiringMap<Promise<KnownUser | undefined>>;
  readonly #accesses: ExpiringMap<Promise<boolean>>;
  readonly #buckets: ExpiringMap<{ tokens: number; at: number }>;
  #reviews = 0;

  constructor(deps: TokenAccessDeps) {
    this.#deps = deps;
    const now = (): number => deps.clock.monotonic();
    this.#users = new ExpiringMap({ now, ttlMs: reviewTtlMs, max: maxKnownTokens });
    this.#reviewed = new ExpiringMap({ now, ttlMs: reviewTtlMs, max: maxKnownTokens });
    this.#accesses = new ExpiringMap({ now, ttlMs: reviewTtlMs, max: maxKnownAccesses });
    this.#buckets = new ExpiringMap({ now, ttlMs: 60_000, max: maxKnownTokens });
  }

  /** @throws ApiFault 401, 429 or 503 */
  async viewer(token: string | undefined, signal: AbortSignal): Promise<Viewer> {
    if (token === undefined || token === '')
      throw new ApiFault(
        401,
        'a Kubernetes token is missing: send it as "Authorization: Bearer TOKEN" or in X-Driftless-Token',
      );
    if (token.length > maxTokenLength) throw new ApiFault(401, 'the token is too long');
    const hash = createHash('sha256').update(token).digest('base64');
    const known = this.#users.get(hash) ?? (await this.#cached(this.#reviewed, hash, () => this.#review(hash, token)));
    signal.throwIfAborted();
    if (known === undefined) throw new ApiFault(401, 'the API server does not accept this token');
    // By user: anybody who may create one token of a service account may create any number.
    this.#take(known.shown);
    return { user: known.shown, mayRead: (namespace, inner) => this.#mayRead(hash, known, namespace, inner) };
  }

  /** Takes one request from the allowance of a user. */
  #take(user: string): void {
    const now = this.#deps.clock.monotonic();
    const bucket = this.#buckets.get(user) ?? { tokens: burst, at: now };
    bucket.tokens = Math.min(burst, bucket.tokens + ((now - bucket.at) / 1000) * perSecond);
    bucket.at = now;
    if (bucket.tokens < 1) throw new ApiFault(429, `more than ${perSecond} requests a second of one user`);
    bucket.tokens -= 1;
    this.#buckets.set(user, bucket);
  }

  /** Whether the user may get Applications everywhere, or in this namespace. */
  async #mayRead(hash: string, user: KnownUser, namespace: string, signal: AbortSignal): Promise<boolean> {
    const ask = (where: string): Promise<boolean> =>
      this.#cached(this.#accesses, `${hash} ${where}`, () => this.#isAllowed(user, where));
    const isAllowed = (await ask('')) || (namespace !== '' && (await ask(namespace)));
    signal.throwIfAborted();
    return isAllowed;
  }

  async #review(hash: string, token: string): Promise<KnownUser | undefined> {
    const status = await this.#ask(tokenReview, { token });
    const user = isObject(status['user']) ? status['user'] : undefined;
    if (status['authenticated'] !== true || user === undefined || typeof user['username'] !== 'string')
      return undefined;
    const { username, uid, groups, extra } = user;
    const known = {
      user: jsonOf({ user: username, uid: uid ?? '', groups: groups ?? [], extra: extra ?? {} }),
      shown: username,
    };
    this.#users.set(hash, known);
    return known;
  }

  async #isAllowed({ user }: KnownUser, namespace: string): Promise<boolean> {
    const resourceAttributes = { group: 'argoproj.io', resource: 'applications', verb: 'get', namespace };
    const spec = { ...(isObject(user) ? user : {}), resourceAttributes };
    const status = await this.#ask(accessReview, spec);
    return status['allowed'] === true && status['denied'] !== true;
  }

  /**
   * Sends a review. Several callers may wait for it, so it does not end with one of them.
   * @throws ApiFault 503 if it is not answered
   */
  async #ask(
    resource: typeof tokenReview,
    spec: Readonly<Record<string, Json | undefined>>,
  ): Promise<Readonly<Record<string, Json | undefined>>> {
    const limit = resource === tokenReview ? maxTokenReviews : maxReviews;
    if (this.#reviews >= limit) throw new ApiFault(503, 'too many callers are being checked: try again');
    this.#reviews += 1;
    const { client, clock, logger } = this.#deps;
    const review = {
      apiVersion: `${resource.group}/${resource.version}`,
      kind: resource.kind,
      metadata: {},
      spec: jsonOf(spec),
    };
    try {
      const answer = await withDeadline(
        newAbortController().signal,
        { clock, limitMs: reviewDeadlineMs, what: `the ${resource.kind}` },
        (inner) => client.create(resource, review as KubeObject, { signal: inner, deadlineMs: reviewDeadlineMs }),
      );
      const status = answer['status'];
      return isObject(status) ? status : {};
    } catch (error) {
      logger.warn('A caller of the read API cannot be checked', { review: resource.kind, error });
      throw new ApiFault(503, `the API server did not answer the ${resource.kind}, so nothing is shown`, {
        cause: error,
      });
    } finally {
      this.#reviews -= 1;
    }
  }

  /** One question at a time for each key. Failures are not kept. */
  #cached<T>(map: ExpiringMap<Promise<T>>, key: string, ask: () => Promise<T>): Promise<T> {
    const known = map.get(key);
    if (known !== undefined) return known;
    const asked = ask();
    map.set(key, asked);
    asked.catch(() => map.delete(key));
    return asked;
  }
}
