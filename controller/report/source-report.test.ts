import { describe, expect, it } from '@jest/globals';
import type { CommitFacts } from '#desired';
import type { Application } from '#model';
import { reportSources } from './source-report.ts';

const { signal } = new AbortController();
const commit: CommitFacts = { author: 'Ada <ada@example.com>', at: '2026-01-02T03:04:05Z', subject: 'raise the limit' };

function app(revisions: readonly string[], count = revisions.length): Application {
  const sources = Array.from({ length: count }, (_, i) => ({
    repoURL: `https://me:hunter2@git.example/${i}`,
    path: `p${i}`,
    targetRevision: 'main',
  }));
  return {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Application',
    metadata: { name: 'demo', namespace: 'argocd' },
    spec: { project: 'default', destination: {}, sources },
    status: { sync: { status: 'Synced', revisions } },
  } as unknown as Application;
}

describe('the sources of an Application', () => {
  it('have the commit of the revision that was compared, and no credentials', async () => {
    const asked: string[] = [];
    const found = await reportSources(
      app(['a', 'b']),
      (_app, { path = '' }, revision) => {
        asked.push(`${path} ${revision}`);
        return Promise.resolve(commit);
      },
      signal,
    );
    expect(asked).toEqual(['p0 a', 'p1 b']);
    expect(found[1]).toEqual({
      repository: 'https://git.example/1',
      path: 'p1',
      targetRevision: 'main',
      revision: 'b',
      commit,
    });
  });

  it('have no commit before the first comparison, and none if it is unknown or cannot be read', async () => {
    const never = (): Promise<undefined> => Promise.reject(new Error('asked'));
    expect(await reportSources(app([], 1), never, signal)).toEqual([
      { repository: 'https://git.example/0', path: 'p0', targetRevision: 'main', revision: '' },
    ]);
    const [unknown] = await reportSources(app(['a']), () => Promise.resolve(undefined), signal);
    const [failed] = await reportSources(app(['a']), () => Promise.reject(new Error('no mirror')), signal);
    expect([unknown, failed]).toEqual([
      expect.not.objectContaining({ commit }),
      expect.not.objectContaining({ commit }),
    ]);
  });

  it('are twenty at most', async () => {
    const found = await reportSources(app([], 500), () => Promise.resolve(undefined), signal);
    expect(found).toHaveLength(20);
  });
});
