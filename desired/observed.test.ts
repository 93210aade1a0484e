import { describe, expect, it } from '@jest/globals';
import { FakeClock } from '#support';
import { GenerationPaused, ManifestError, RepositoryError, RevisionNotFound, SourceFailed } from './errors.ts';
import { observeSource } from './observed.ts';
import type { ObservedSource } from './observed.ts';
import type { DesiredSource, RequestedSource } from './types.ts';

const signal = new AbortController().signal;
const canary = 'c4nary';

/** The reports of a source that fails with an error, or succeeds. */
function observed(
  failure?: Error,
): ObservedSource & { readonly ask: (url: string, path?: string) => Promise<unknown> } {
  const source = {
    name: 'test',
    resolve: () => (failure === undefined ? Promise.resolve('a') : Promise.reject(new SourceFailed(0, failure))),
  } as unknown as DesiredSource;
  const seen = observeSource(source, new FakeClock());
  const ask = (repoURL: string, path = 'p'): Promise<unknown> =>
    seen.source
      .resolve({ source: { repoURL, path }, revision: 'main' } as unknown as RequestedSource, 'current', signal)
      .catch(() => undefined);
  return { ...seen, ask };
}

describe('the report of repositories', () => {
  // T-SEC-1
  it.each([
    `https://me:${canary}@git/x`,
    `https://${canary}@git/x`,
    `https://git/x?private_token=${canary}&a=b`,
    `https://me:${canary}@git/x?access_token=${canary}`,
  ])('has no credential of the address %s', async (url) => {
    const { ask, repositories } = observed();
    await ask(url);
    expect(repositories()).toHaveLength(1);
    expect(JSON.stringify(repositories())).not.toContain(canary);
  });

  it('has a bound for each text of a tenant', async () => {
    const { ask, repositories } = observed(new GenerationPaused('x'.repeat(65_000)));
    await ask(`https://git/${'x'.repeat(100_000)}`, 'p'.repeat(100_000));
    expect(repositories()[0]?.paused).toHaveLength(1);
    expect(JSON.stringify(repositories()).length).toBeLessThan(8000);
  });

  it.each<[string, Error | undefined, number]>([
    ['a repository that cannot be read', new RepositoryError('away'), 2],
    ['one that was read', undefined, 0],
    ['one with a manifest that cannot be parsed', new ManifestError('bad'), 0],
    ['one without the revision', new RevisionNotFound('main'), 0],
  ])('counts failures of the repository alone: %s', async (_what, failure, failuresInRow) => {
    const { ask, repositories } = observed(failure);
    await ask('https://git/x');
    await ask('https://git/x');
    expect(repositories()[0]).toMatchObject({ failuresInRow, lastFetch: { ok: failure === undefined } });
  });

  it('says why a source is paused, and until when', async () => {
    const { ask, repositories } = observed(new GenerationPaused('bad template', 99));
    await ask('https://git/x', 'charts/a');
    expect(repositories()[0]).toMatchObject({
      failuresInRow: 0,
      paused: [{ path: 'charts/a', revision: 'main', message: 'bad template', until: 99 }],
    });
  });

  it('keeps the repositories that are in use, whatever number of others a tenant names', async () => {
    const { ask, repositories } = observed(new RepositoryError('away'));
    for (let i = 0; i < 6000; i += 1) {
      await ask(`https://git/junk-${i}`);
      if (i % 1000 === 0) await ask('https://git/used');
    }
    const urls = repositories().map(({ url }) => url);
    expect(urls).toHaveLength(5000);
    expect(urls).toContain('https://git/used');
    expect(urls).toContain('https://git/junk-5999');
  });
});
