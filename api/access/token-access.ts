import { createHash } from 'node:crypto';
import { defined, hashText, isObject, newAbortController, withDeadline } from '#base';
import type { Clock, Json } from '#base';
import { apiResource } from '#kube';
import type { KubeClient } from '#kube';
import { jsonOf } from '#model';
import type { KubeObject } from '#model';
import type { Logger } from '#telemetry';
import { ApiFault } from '../fault.ts';
import { AccessReviews } from './access-reviews.ts';
import type { KnownUser } from './access-reviews.ts';
import { Allowances } from './allowances.ts';
import { ExpiringMap } from '../expiring-map.ts';
import type { ResourceRight } from './rights.ts';
import type { Viewer } from './viewer.ts';

type ReviewSpec = Readonly<Record<string, Json | undefined>>;

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
/** Unknown tokens that are checked at a time; more are refused instead of queued. */
const maxTokenReviews = 24;
/** Slots for tokens that were good lately: a flood of invalid ones does not shut them out. */
const maxRenewals = 8;
const renewableMs = 3_600_000;
const maxKnownTokens = 1000;
/** Requests of one user, and of all ServiceAccounts of a namespace: a burst, then a rate. */
const ofUser = { burst: 60, perSecond: 20 };
const ofTenant = { burst: 240, perSecond: 80 };
const maxTokenLength = 8192;

/**
 * Finds out by TokenReview who sends a token, and by SubjectAccessReview which rights that user
 * has. If the API server does not answer, nothing is shown. Tokens are kept as hashes only.
 */
export class TokenAccess {
  readonly #deps: TokenAccessDeps;
  readonly #users: ExpiringMap<KnownUser>;
  /** Apart from known users, whom a flood of invalid tokens must not evict. */
  readonly #reviewed: ExpiringMap<Promise<KnownUser | undefined>>;
  /** Hashes of tokens that were good. */
  readonly #renewable: ExpiringMap<true>;
  readonly #reviews: AccessReviews;
  readonly #ofUser: Allowances;
  readonly #ofTenant: Allowances;
  #tokenReviews = 0;
  #renewals = 0;

  constructor(deps: TokenAccessDeps) {
    this.#deps = deps;
    const now = (): number => deps.clock.monotonic();
    this.#users = new ExpiringMap({ now, ttlMs: reviewTtlMs, max: maxKnownTokens });
    this.#reviewed = new ExpiringMap({ now, ttlMs: reviewTtlMs, max: maxKnownTokens });
    this.#renewable = new ExpiringMap({ now, ttlMs: renewableMs, max: maxKnownTokens });
    this.#ofUser = new Allowances(now, ofUser);
    this.#ofTenant = new Allowances(now, ofTenant);
    this.#reviews = new AccessReviews({ now, ttlMs: reviewTtlMs, ask: (...args) => this.#isAllowed(...args) });
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
    if (!this.#ofUser.take(known.name))
      throw new ApiFault(429, `more than ${ofUser.perSecond} requests a second of one user`);
    if (!this.#ofTenant.take(known.tenant))
      throw new ApiFault(429, `more than ${ofTenant.perSecond} requests a second of the users of one namespace`);
    return {
      user: known.name,
      tenant: known.tenant,
      may: (right, inner) => this.#reviews.may(known, right, inner),
    };
  }

  async #review(hash: string, token: string): Promise<KnownUser | undefined> {
    const status = await this.#reviewInSlot(hash, { token });
    const user = isObject(status['user']) ? status['user'] : undefined;
    if (status['authenticated'] !== true || user === undefined || typeof user['username'] !== 'string') {
      this.#renewable.delete(hash);
      return undefined;
    }
    const { username, uid, groups, extra } = user;
    const asked = jsonOf({ user: username, uid: uid ?? '', groups: groups ?? [], extra: extra ?? {} });
    const known = {
      user: asked,
      identity: hashText(JSON.stringify(asked)),
      name: username,
      tenant: tenantOf(username),
    };
    this.#users.set(hash, known);
    this.#renewable.set(hash, true);
    return known;
  }

  async #reviewInSlot(hash: string, spec: ReviewSpec): Promise<ReviewSpec> {
    const isRenewal = this.#renewable.get(hash) !== undefined && this.#renewals < maxRenewals;
    if (!isRenewal && this.#tokenReviews >= maxTokenReviews)
      throw new ApiFault(503, 'too many callers are being checked: try again');
    if (isRenewal) this.#renewals += 1;
    else this.#tokenReviews += 1;
    try {
      return await this.#ask(tokenReview, spec);
    } finally {
      if (isRenewal) this.#renewals -= 1;
      else this.#tokenReviews -= 1;
    }
  }

  async #isAllowed({ user }: KnownUser, right: ResourceRight): Promise<boolean> {
    const { group, resource, subresource, verb, namespace, name } = right;
    const resourceAttributes = { group, resource, verb, namespace, ...defined({ subresource, name }) };
    const spec = { ...(isObject(user) ? user : {}), resourceAttributes };
    const status = await this.#ask(accessReview, spec);
    return status['allowed'] === true && status['denied'] !== true;
  }

  /**
   * Sends a review. Several callers may wait for it, so it does not end with one of them.
   * @throws ApiFault 503 if it is not answered
   */
  async #ask(resource: typeof tokenReview, spec: ReviewSpec): Promise<ReviewSpec> {
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

/** ServiceAccounts of one namespace have one owner, who can create any number of them. */
function tenantOf(username: string): string {
  return /^system:serviceaccount:[^:]+/.exec(username)?.[0] ?? username;
}
