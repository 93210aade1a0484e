import { createHash } from 'node:crypto';
import { isObject, withDeadline } from '#base';
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
const maxKnownTokens = 1000;
const maxKnownAccesses = 20_000;
/** Requests of one token: a burst, and what comes after it. */
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
  readonly #users: ExpiringMap<Promise<KnownUser | undefined>>;
  readonly #accesses: ExpiringMap<Promise<boolean>>;
  readonly #buckets: ExpiringMap<{ tokens: number; at: number }>;
  #reviews = 0;

  constructor(deps: TokenAccessDeps) {
    this.#deps = deps;
    const now = (): number => deps.clock.monotonic();
    this.#users = new ExpiringMap({ now, ttlMs: reviewTtlMs, max: maxKnownTokens });
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
    this.#take(hash);
    const known = await this.#cached(this.#users, hash, () => this.#review(token, signal));
    if (known === undefined) throw new ApiFault(401, 'the API server does not accept this token');
    return { mayRead: (namespace, inner) => this.#mayRead(hash, known, namespace, inner) };
  }

  /** Takes one request from the allowance of a token. */
  #take(hash: string): void {
    const now = this.#deps.clock.monotonic();
    const bucket = this.#buckets.get(hash) ?? { tokens: burst, at: now };
    bucket.tokens = Math.min(burst, bucket.tokens + ((now - bucket.at) / 1000) * perSecond);
    bucket.at = now;
    if (bucket.tokens < 1) throw new ApiFault(429, `more than ${perSecond} requests a second with one token`);
    bucket.tokens -= 1;
    this.#buckets.set(hash, bucket);
  }

  /** Whether the user may get Applications everywhere, or in this namespace. */
  async #mayRead(hash: string, user: KnownUser, namespace: string, signal: AbortSignal): Promise<boolean> {
    const ask = (where: string): Promise<boolean> =>
      this.#cached(this.#accesses, `${hash} ${where}`, () => this.#isAllowed(user, where, signal));
    return (await ask('')) || (namespace !== '' && (await ask(namespace)));
  }

  async #review(token: string, signal: AbortSignal): Promise<KnownUser | undefined> {
    const status = await this.#ask(tokenReview, { token }, signal);
    const user = isObject(status['user']) ? status['user'] : undefined;
    if (status['authenticated'] !== true || user === undefined || typeof user['username'] !== 'string')
      return undefined;
    const { username, uid, groups, extra } = user;
    return {
      user: jsonOf({ user: username, uid: uid ?? '', groups: groups ?? [], extra: extra ?? {} }),
      shown: username,
    };
  }

  async #isAllowed({ user }: KnownUser, namespace: string, signal: AbortSignal): Promise<boolean> {
    const resourceAttributes = { group: 'argoproj.io', resource: 'applications', verb: 'get', namespace };
    const spec = { ...(isObject(user) ? user : {}), resourceAttributes };
    const status = await this.#ask(accessReview, spec, signal);
    return status['allowed'] === true && status['denied'] !== true;
  }

  /** Sends a review. @throws ApiFault 503 if it is not answered */
  async #ask(
    resource: typeof tokenReview,
    spec: Readonly<Record<string, Json | undefined>>,
    signal: AbortSignal,
  ): Promise<Readonly<Record<string, Json | undefined>>> {
    if (this.#reviews >= maxReviews) throw new ApiFault(503, 'too many callers are being checked: try again');
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
        signal,
        { clock, limitMs: reviewDeadlineMs, what: `the ${resource.kind}` },
        (inner) => client.create(resource, review as KubeObject, { signal: inner, deadlineMs: reviewDeadlineMs }),
      );
      const status = answer['status'];
      return isObject(status) ? status : {};
    } catch (error) {
      signal.throwIfAborted();
      logger.warn('A caller of the read API cannot be checked', { review: resource.kind, error });
      throw new ApiFault(503, `the API server did not answer the ${resource.kind}, so nothing is shown`, error);
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
