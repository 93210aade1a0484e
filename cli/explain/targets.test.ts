import { describe, expect, it } from '@jest/globals';
import { explainTarget } from './targets.ts';
import type { ExplainedTarget } from './targets.ts';
import { answerWith, noon } from '../../api/testing/index.ts';

const head = { apiVersion: 'driftless.io/v1', time: noon, replica: 'driftless-0', incomplete: [] };

/** A reader of these pages, by path; all others do not exist. */
function reading(pages: Readonly<Record<string, unknown>>): { readonly get: (path: string) => Promise<unknown> } {
  return { get: (path) => Promise.resolve(pages[path]) };
}

const target = (more: Partial<ExplainedTarget>): ExplainedTarget => ({
  kind: 'application',
  name: 'guestbook',
  namespace: 'argocd',
  ...more,
});

it('reads the page of the Application', async () => {
  const page = answerWith();
  const found = await explainTarget(reading({ '/applications/argocd/guestbook': page }), target({}));
  expect(found.page).toBe(page);
  expect(found.explanation.verdict).toBe('healthy');
});

describe('names what was probably meant:', () => {
  const applications = {
    ...head,
    items: [
      { namespace: 'argocd', name: 'guestbook' },
      { namespace: 'team-a', name: 'shop' },
    ],
  };
  it.each<[Partial<ExplainedTarget>, string]>([
    [
      { name: 'gestbook' },
      'there is no Application argocd/gestbook that a replica owns and you may read: did you mean argocd/guestbook?',
    ],
    [
      { name: 'shop' },
      'there is no Application argocd/shop that a replica owns and you may read: did you mean team-a/shop?',
    ],
    [
      { name: 'something-else', namespace: 'x' },
      'there is no Application x/something-else that a replica owns and you may read: known are argocd/guestbook, team-a/shop',
    ],
    [{ kind: 'cluster', name: 'prd' }, 'there is no cluster prd: did you mean prod?'],
    [
      { kind: 'repository', name: 'https://git/b' },
      'there is no repository https://git/b: did you mean https://git/a?',
    ],
    [{ kind: 'replica', name: 'driftless-9' }, 'there is no replica driftless-9: did you mean driftless-0?'],
  ])('%j', async (wanted, message) => {
    const pages = {
      '/applications?limit=1000': applications,
      '/clusters': { ...head, items: [{ name: 'prod' }] },
      '/repositories': { ...head, items: [{ url: 'https://git/a' }] },
      '/replica': { ...head, items: [{ name: 'driftless-0' }] },
      '/queues': { ...head, items: [] },
    };
    await expect(explainTarget(reading(pages), target(wanted))).rejects.toThrow(message);
  });

  it('finds the nearest name on the last page of 3,000 Applications', async () => {
    const itemsOf = (from: number): readonly object[] =>
      Array.from({ length: 1000 }, (_, i) => ({ namespace: 'argocd', name: `service-${from + i}` }));
    const pages = {
      '/applications?limit=1000': { ...head, items: itemsOf(0), continue: 'a b' },
      '/applications?limit=1000&continue=a%20b': { ...head, items: itemsOf(1000), continue: 'c' },
      '/applications?limit=1000&continue=c': {
        ...head,
        items: [...itemsOf(2000), { namespace: 'team-z', name: 'storefront' }],
      },
    };
    await expect(explainTarget(reading(pages), target({ name: 'storefrnt', namespace: 'team-z' }))).rejects.toThrow(
      'did you mean team-z/storefront?',
    );
  });

  it('names five of many', async () => {
    const items = Array.from({ length: 12 }, (_, i) => ({ name: `production-cluster-${i}` }));
    await expect(
      explainTarget(reading({ '/clusters': { ...head, items } }), target({ kind: 'cluster', name: 'x' })),
    ).rejects.toThrow(/known are production-cluster-0, .*-4 and 7 more$/);
  });
});

it('encodes hostile names', async () => {
  const paths: string[] = [];
  const reader = {
    get: (path: string) => {
      paths.push(path);
      return Promise.resolve({ ...head, items: [] });
    },
  };
  await explainTarget(
    { get: (path) => reader.get(path).then(() => undefined) },
    target({ name: '../../x?y', namespace: 'a/b' }),
  ).catch(() => undefined);
  expect(paths[0]).toBe('/applications/a%2Fb/..%2F..%2Fx%3Fy');
});
