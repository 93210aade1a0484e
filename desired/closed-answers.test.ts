import { describe, expect, it } from '@jest/globals';
import { FakeClock } from '#support';
import type { KubeObject } from '#model';
import { ClosedAnswers, observeFetches } from './closed-answers.ts';
import type { RelatedFetches } from './generate/plan.ts';
import type { SourceManifests } from './types.ts';

const objects: readonly KubeObject[] = [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } }];
const manifests: SourceManifests = { objects, contentId: 'c', revision: 'r', sourceType: 'Directory' };

describe('answers that follow from a commit', () => {
  it('are given again for the same request and plugins, for an hour', async () => {
    const clock = new FakeClock();
    const answers = new ClosedAnswers(clock);
    answers.set('key', ['a.sock'], manifests);
    expect(answers.get('key', ['a.sock'])).toEqual(manifests);
    expect(answers.get('key', ['a.sock'])?.objects).toBe(objects);
    expect(answers.get('other', ['a.sock'])).toBeUndefined();
    expect(answers.get('key', ['a.sock', 'b.sock'])).toBeUndefined();
    expect(answers.get('key', [])).toBeUndefined();
    await clock.advance(3_600_001);
    expect(answers.get('key', ['a.sock'])).toBeUndefined();
  });

  it('are those of sources that read no files of other repositories, charts or addresses', () => {
    const none = (): Promise<never> => Promise.reject(new Error('not called'));
    const related: RelatedFetches = {
      fetchReferenced: none,
      fetchRepository: none,
      downloadChart: none,
      downloadFile: none,
    };
    const signal = new AbortController().signal;
    const repository = { url: 'https://git/x', revision: 'main' };
    const uses: readonly (readonly [boolean, (fetches: RelatedFetches) => Promise<unknown>])[] = [
      [true, () => Promise.resolve()],
      [true, ({ fetchReferenced }) => fetchReferenced('values', signal)],
      [false, ({ fetchRepository }) => fetchRepository(repository, signal)],
      [false, ({ downloadChart }) => downloadChart({} as never, signal)],
      [false, ({ downloadFile }) => downloadFile('https://x', 1, signal)],
    ];
    for (const [closed, use] of uses) {
      const { fetches, isClosed } = observeFetches(related);
      use(fetches).catch(() => undefined);
      expect(isClosed()).toBe(closed);
    }
  });
});
