import { beforeEach, describe, expect, it } from '@jest/globals';
import { isObject, Shutdown } from '#base';
import type { Json, JsonObject } from '#base';
import type { KubeObject } from '#model';
import { FakeClock } from '#support';
import { silentLogger } from '#telemetry';
import { ApiFault } from '../fault.ts';
import { reviewTtlMs, TokenAccess } from './token-access.ts';
import { mayReadApplications } from './viewer.ts';

const signal = new AbortController().signal;
let clock: FakeClock;
let calls: string[];
/** What the API server knows: users by token, and the namespaces that each may read. */
let users: Map<string, string>;
let rights: Map<string, readonly string[]>;
let failure: Error | undefined;
let access: TokenAccess;

function textIn(object: JsonObject, name: string): string {
  const value = object[name];
  return typeof value === 'string' ? value : '';
}

function review(object: KubeObject): Json {
  const spec = object['spec'];
  if (!isObject(spec)) return {};
  if (object.kind === 'TokenReview') {
    const username = users.get(textIn(spec, 'token'));
    return username === undefined
      ? { authenticated: false }
      : { authenticated: true, user: { username, groups: ['g'] } };
  }
  const attributes = spec['resourceAttributes'];
  const namespace = isObject(attributes) ? textIn(attributes, 'namespace') : '?';
  return { allowed: rights.get(textIn(spec, 'user'))?.includes(namespace) === true };
}

beforeEach(() => {
  clock = new FakeClock();
  calls = [];
  users = new Map([['good', 'alice']]);
  rights = new Map([['alice', ['team']]]);
  failure = undefined;
  access = new TokenAccess({
    clock,
    logger: silentLogger,
    client: {
      create: (resource, object) => {
        calls.push(resource.kind);
        if (failure !== undefined) return Promise.reject(failure);
        return Promise.resolve({ ...object, status: review(object) });
      },
    },
  });
});

async function statusOf(work: Promise<unknown>): Promise<number> {
  const error: unknown = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return error instanceof ApiFault ? error.status : 200;
}

describe('a caller', () => {
  it.each([undefined, '', 'of-another-audience', 'x'.repeat(9000)])(
    'with the token %.20s is not known: 401',
    async (token) => {
      expect(await statusOf(access.viewer(token, signal))).toBe(401);
    },
  );

  it('sees the namespaces that the API server would show it, and no others', async () => {
    const viewer = await access.viewer('good', signal);
    expect(await mayReadApplications(viewer, 'team', signal)).toBe(true);
    expect(await mayReadApplications(viewer, 'other', signal)).toBe(false);
    expect(await mayReadApplications(viewer, '', signal)).toBe(false);
    rights.set('bob', ['']);
    users.set('all', 'bob');
    expect(await mayReadApplications(await access.viewer('all', signal), 'other', signal)).toBe(true);
  });

  it('is checked once in ten seconds', async () => {
    for (let i = 0; i < 5; i += 1) await mayReadApplications(await access.viewer('good', signal), 'team', signal);
    expect(calls).toEqual(['TokenReview', 'SubjectAccessReview', 'SubjectAccessReview']);
  });

  it('whose token was revoked, or whose right was taken, sees nothing after ten seconds', async () => {
    const viewer = await access.viewer('good', signal);
    expect(await mayReadApplications(viewer, 'team', signal)).toBe(true);
    users.clear();
    rights.clear();
    await clock.advance(reviewTtlMs + 1);
    expect(await mayReadApplications(viewer, 'team', signal)).toBe(false);
    expect(await statusOf(access.viewer('good', signal))).toBe(401);
  });

  it('sees nothing while the API server does not answer: 503, and not a moment longer', async () => {
    failure = new Error('connection refused');
    expect(await statusOf(access.viewer('good', signal))).toBe(503);
    failure = undefined;
    const viewer = await access.viewer('good', signal);
    failure = new Error('connection refused');
    expect(await statusOf(mayReadApplications(viewer, 'team', signal))).toBe(503);
  });

  it('that asks too often is told so, without a cost for others', async () => {
    users.set('other', 'bob');
    const statuses: number[] = [];
    for (let i = 0; i < 70; i += 1) statuses.push(await statusOf(access.viewer('good', signal)));
    expect(statuses.filter((status) => status === 200)).toHaveLength(60);
    expect(statuses.at(-1)).toBe(429);
    expect(await statusOf(access.viewer('other', signal))).toBe(200);
    await clock.advance(1000);
    expect(await statusOf(access.viewer('good', signal))).toBe(200);
  });

  it('cannot get more requests by more tokens of one user', async () => {
    for (let i = 0; i < 70; i += 1) users.set(`token-${i}`, 'mallory');
    const statuses: number[] = [];
    for (let i = 0; i < 70; i += 1) statuses.push(await statusOf(access.viewer(`token-${i}`, signal)));
    expect(statuses.filter((status) => status === 429)).toHaveLength(10);
  });

  it('stays known while others send thousands of invalid tokens', async () => {
    await access.viewer('good', signal);
    calls = [];
    for (let i = 0; i < 3000; i += 1) await statusOf(access.viewer(`junk-${i}`, signal));
    calls = [];
    expect(await statusOf(access.viewer('good', signal))).toBe(200);
    expect(calls).toEqual([]);
  });

  it('who goes away fails no other caller with the same token', async () => {
    let answer: () => void = () => undefined;
    const slow = new TokenAccess({
      clock,
      logger: silentLogger,
      client: {
        create: (_resource, object, options) =>
          new Promise((resolve, reject) => {
            answer = () => resolve({ ...object, status: review(object) });
            options.signal.addEventListener('abort', () => reject(new Error('aborted')));
          }),
      },
    });
    const gone = new AbortController();
    const first = statusOf(slow.viewer('good', gone.signal));
    const second = statusOf(slow.viewer('good', signal));
    gone.abort(new Shutdown('the caller is gone'));
    await clock.advance(1);
    answer();
    expect(await second).toBe(200);
    await first;
  });

  it('is one of few that are checked at the same time: a flood of tokens is refused', async () => {
    const answers: (() => void)[] = [];
    const slow = new TokenAccess({
      clock,
      logger: silentLogger,
      client: {
        create: (_resource, object) =>
          new Promise((resolve) => answers.push(() => resolve({ ...object, status: { authenticated: false } }))),
      },
    });
    const asked = Array.from({ length: 100 }, (_, i) => statusOf(slow.viewer(`token-${i}`, signal)));
    await clock.advance(1);
    for (const answer of answers) answer();
    const statuses = await Promise.all(asked);
    expect(statuses.filter((status) => status === 503)).toHaveLength(100 - 24);
    expect(statuses.filter((status) => status === 401)).toHaveLength(24);
  });
});

describe('users of one namespace', () => {
  const account = (i: number): string => `system:serviceaccount:team-a:sa-${i}`;

  it('share a limit of requests, and leave that of others alone', async () => {
    for (let i = 0; i < 300; i += 1) users.set(`token-${i}`, account(i));
    const statuses: number[] = [];
    for (let i = 0; i < 300; i += 1) statuses.push(await statusOf(access.viewer(`token-${i}`, signal)));
    expect(statuses.filter((status) => status === 429)).toHaveLength(60);
    expect(await statusOf(access.viewer('good', signal))).toBe(200);
  });

  it('cannot keep others from being checked: reviews take turns', async () => {
    const waiting: (() => void)[] = [];
    const asked: string[] = [];
    const slow = new TokenAccess({
      clock,
      logger: silentLogger,
      client: {
        create: (resource, object) => {
          if (resource.kind === 'TokenReview') return Promise.resolve({ ...object, status: review(object) });
          asked.push(textIn(object['spec'] as JsonObject, 'user'));
          return new Promise((resolve) => waiting.push(() => resolve({ ...object, status: review(object) })));
        },
      },
    });
    for (let i = 0; i < 20; i += 1) users.set(`token-${i}`, account(i));
    for (let i = 0; i < 20; i += 1)
      void statusOf(mayReadApplications(await slow.viewer(`token-${i}`, signal), 'team', signal));
    const alice = mayReadApplications(await slow.viewer('good', signal), 'team', signal);
    await clock.advance(1);
    expect(asked).toHaveLength(9);
    expect(asked).toContain('alice');
    waiting.pop()!();
    await clock.settle();
    waiting.pop()!();
    expect(await alice).toBe(true);
  });

  it('ask a bounded number of reviews', async () => {
    users.set('mallory', account(1));
    const viewer = await access.viewer('mallory', signal);
    const statuses: number[] = [];
    for (let n = 0; n < 2100; n += 1) statuses.push(await statusOf(mayReadApplications(viewer, `n${n}`, signal)));
    expect(statuses.filter((status) => status === 429)).toHaveLength(101);
    expect(await mayReadApplications(await access.viewer('good', signal), 'team', signal)).toBe(true);
  });
});

describe('a token that was good', () => {
  it('is checked again while a flood of invalid ones takes all of their slots', async () => {
    let isSlow = false;
    const slow = new TokenAccess({
      clock,
      logger: silentLogger,
      client: {
        create: (_resource, object) =>
          isSlow && textIn(object['spec'] as JsonObject, 'token') !== 'good'
            ? new Promise(() => undefined)
            : Promise.resolve({ ...object, status: review(object) }),
      },
    });
    await slow.viewer('good', signal);
    isSlow = true;
    await clock.advance(reviewTtlMs + 1);
    for (let i = 0; i < 100; i += 1) void statusOf(slow.viewer(`junk-${i}`, signal));
    expect(await statusOf(slow.viewer('good', signal))).toBe(200);
  });
});
