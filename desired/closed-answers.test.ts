import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import { systemClock } from '#base';
import { FakeClock } from '#support';
import { bareRepository } from '#model';
import type { KubeObject } from '#model';
import { ClosedAnswers, observeFetches } from './closed-answers.ts';
import type { RelatedFetches } from './generate/plan.ts';
import { noRenderer } from './render/in-process.ts';
import { failureOf, renderBench } from './testing/repository.ts';
import { renderOne, requestOf } from './testing/request.ts';
import type { SourceManifests } from './types.ts';

const objects: readonly KubeObject[] = [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } }];
const manifests: SourceManifests = { objects, contentId: 'c', revision: 'r', sourceType: 'Directory' };

describe('answers that follow from a commit', () => {
  it('are given again for the same request and plugins, for an hour', async () => {
    const clock = new FakeClock();
    const answers = new ClosedAnswers(clock);
    answers.set('key', ['a.sock'], manifests, 'default');
    expect(answers.get('key', ['a.sock'])).toEqual(manifests);
    expect(answers.get('key', ['a.sock'])?.objects).toBe(objects);
    expect(answers.get('other', ['a.sock'])).toBeUndefined();
    expect(answers.get('key', ['a.sock', 'b.sock'])).toBeUndefined();
    expect(answers.get('key', [])).toBeUndefined();
    await clock.advance(3_600_000);
    expect(answers.get('key', ['a.sock'])).toEqual(manifests);
    await clock.advance(1);
    expect(answers.get('key', ['a.sock'])).toBeUndefined();
  });

  it('end when nothing else holds their manifests any more', async () => {
    const answers = new ClosedAnswers(new FakeClock());
    answers.set('held', [], manifests, 'default');
    answers.set('dropped', [], { ...manifests, objects: [...objects] }, 'default');
    // A reference that was made or read in this turn of the event loop is held until its end.
    await systemClock.sleep(0, new AbortController().signal);
    setFlagsFromString('--expose-gc');
    (runInNewContext('gc') as () => void)();
    expect([answers.get('held', []), answers.get('dropped', [])]).toEqual([manifests, undefined]);
  });

  it('are not given after LFS was enabled for the repository', async () => {
    const chart = 'apiVersion: v2\nname: c\nversion: 1.0.0\n';
    const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${'0'.repeat(64)}\nsize 9\n`;
    const steps = [{ exitCode: 0, stdout: Buffer.from(JSON.stringify(objects[0])), stderr: '' }];
    const version = (): Promise<string> => Promise.resolve('v3.18.0');
    const bench = renderBench({ renderer: { ...noRenderer, version, render: () => Promise.resolve({ steps }) } });
    try {
      const { path } = bench.repository({ 'Chart.yaml': chart, 'files/big': pointer });
      const render = (lfs: boolean): Promise<SourceManifests> => {
        const request = requestOf({ repoURL: path, path: '.' }, { ...bareRepository(path), lfs });
        return renderOne(bench.desired, request, new AbortController().signal);
      };
      expect((await render(false)).objects).toEqual(objects);
      expect((await failureOf(render(true))).message).toContain('Git LFS');
    } finally {
      bench.close();
    }
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
