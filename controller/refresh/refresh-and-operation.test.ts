import { describe, expect, it } from '@jest/globals';
import { automated, configMap } from '../testing/fake-world.ts';
import { hook, job, wave } from '../testing/manifests.ts';
import { tidyStage } from '../testing/stage.ts';

const at = tidyStage();

const first = 'a'.repeat(40);

// T-Q-2
describe('refresh and operation of one Application', () => {
  // T-Q-2
  it('never write at the same time, and both write', async () => {
    at.world.git.push(
      first,
      Array.from({ length: 4 }, (_, i) => configMap(`c${i}`, '1', wave(i))),
    );
    at.world.application(automated);
    let under = 0;
    let most = 0;
    const kinds = new Set<string>();
    const isWrite = (call: string): boolean => /^(?:patch|replace) Application/.test(call);
    const before = async (call: string): Promise<void> => {
      if (!isWrite(call)) return;
      under += 1;
      most = Math.max(most, under);
      kinds.add(at.world.app.operation === undefined ? 'at rest' : 'in an operation');
      await at.clock.sleep(300, new AbortController().signal);
      under -= 1;
    };
    at.world.replica({ hub: { before } });
    // Each write takes 0.3 s; meanwhile a refresh is requested every 0.1 s, and the cluster
    // changes.
    for (let turn = 0; turn < 100; turn += 1) {
      at.world.annotate({ 'argocd.argoproj.io/refresh': turn % 2 === 0 ? 'normal' : 'hard' });
      await at.clock.advance(100);
    }
    await at.clock.advance(10_000);
    expect(at.world.app.status?.operationState?.phase).toBe('Succeeded');
    expect(at.world.app.status?.sync?.status).toBe('Synced');
    expect([most, under]).toEqual([1, 0]);
    expect(kinds).toEqual(new Set(['at rest', 'in an operation']));
  });
});

describe('a hook that does not end', () => {
  it('delays neither the refresh of its Application nor the sync of another, with one worker for each', async () => {
    const sources = { demo: [job('slow', hook('PreSync')), configMap('one')], other: [configMap('two')] };
    for (const [i, [name, objects]] of Object.entries(sources).entries()) {
      const revision = String(i).repeat(40);
      at.world.git.commits.set(revision, objects);
      const source = { repoURL: 'https://git/x', path: name, targetRevision: revision };
      at.world.application({ source }, { metadata: { name }, operation: { sync: { revision } } });
    }
    at.world.replica({ config: { statusProcessors: 1, operationProcessors: 1 } });
    await at.clock.advance(5000);
    expect(at.world.applicationOf('other').status?.operationState?.phase).toBe('Succeeded');
    const refresh = 'argocd.argoproj.io/refresh';
    at.world.annotate({ [refresh]: 'hard' });
    await at.clock.advance(2000);
    expect(at.world.app.metadata.annotations?.[refresh]).toBeUndefined();
    expect(at.world.app.status?.sync?.status).toBe('OutOfSync');
    expect(at.world.app.status?.operationState?.phase).toBe('Running');
    expect([at.world.dest.get('Job', 'slow') !== undefined, at.world.dest.get('ConfigMap', 'one')]).toEqual([
      true,
      undefined,
    ]);
  });
});
