import { newAbortController } from '#base';
import type { Json } from '#base';
import { FairSlots, FlowFull } from '#queues';
import { ApiFault } from '../fault.ts';
import { Allowances } from './allowances.ts';
import { ExpiringMap } from '../expiring-map.ts';
import type { ResourceRight } from './rights.ts';

/** The caller as the API server names it. */
export interface KnownUser {
  /** User, UID, groups and extra of a review. */
  readonly user: Json;
  /** Hash of `user`: tokens of one user can differ in groups and extra. */
  readonly identity: string;
  readonly name: string;
  /** The tenant that shares limits with the caller. */
  readonly tenant: string;
}

export interface AccessReviewsDeps {
  readonly now: () => number;
  /** How long an answer is used. */
  readonly ttlMs: number;
  /** Asks the API server. @throws ApiFault 503 */
  readonly ask: (user: KnownUser, right: ResourceRight) => Promise<boolean>;
}

const maxKnownUsers = 1000;
const maxAnswersOfUser = 2000;
/** Reviews under way at a time, those of one tenant, and those that wait for their turn. */
const slots = { slots: 32, slotsOfOne: 8, waitingOfOne: 600 };
/** Reviews of one tenant: the list of 500 namespaces, every ten seconds, of several viewers. */
const allowance = { burst: 2000, perSecond: 200 };

/**
 * Answers which rights callers have. Answers are kept for each user apart, and reviews are shared
 * out by tenant: neither can be used up by another.
 */
export class AccessReviews {
  readonly #deps: AccessReviewsDeps;
  readonly #users: ExpiringMap<ExpiringMap<Promise<boolean>>>;
  readonly #slots = new FairSlots(slots);
  readonly #allowances: Allowances;

  constructor(deps: AccessReviewsDeps) {
    this.#deps = deps;
    this.#users = new ExpiringMap({ now: deps.now, ttlMs: 60_000, max: maxKnownUsers });
    this.#allowances = new Allowances(deps.now, allowance);
  }

  /** Whether the user has a right everywhere, or in its namespace. @throws ApiFault 429 or 503 */
  async may(user: KnownUser, right: ResourceRight, signal: AbortSignal): Promise<boolean> {
    const isAllowed =
      (await this.#answer(user, { ...right, namespace: '' })) ||
      (right.namespace !== '' && (await this.#answer(user, right)));
    signal.throwIfAborted();
    return isAllowed;
  }

  /** Several requests may wait for one answer, so it does not end with one of them. */
  #answer(user: KnownUser, right: ResourceRight): Promise<boolean> {
    const answers = this.#answersOf(user);
    const { verb, group, resource, subresource = '', namespace, name = '' } = right;
    const key = JSON.stringify([user.identity, verb, group, resource, subresource, namespace, name]);
    const known = answers.get(key);
    if (known !== undefined) return known;
    const asked = this.#ask(user, right);
    answers.set(key, asked);
    asked.catch(() => answers.delete(key));
    return asked;
  }

  async #ask(user: KnownUser, right: ResourceRight): Promise<boolean> {
    if (!this.#allowances.take(user.tenant)) throw tooMany();
    const never = newAbortController().signal;
    try {
      return await this.#slots.run(user.tenant, never, () => this.#deps.ask(user, right));
    } catch (error) {
      throw error instanceof FlowFull ? tooMany() : error;
    }
  }

  #answersOf({ name }: KnownUser): ExpiringMap<Promise<boolean>> {
    const { now, ttlMs } = this.#deps;
    const answers = this.#users.get(name) ?? new ExpiringMap<Promise<boolean>>({ now, ttlMs, max: maxAnswersOfUser });
    this.#users.set(name, answers);
    return answers;
  }
}

function tooMany(): ApiFault {
  return new ApiFault(429, 'too many rights are being checked for this user or its namespace: try again');
}
