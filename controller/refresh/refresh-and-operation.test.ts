import { describe, expect, it } from '@jest/globals';
import { automated, configMap } from '../testing/fake-world.ts';
import { wave } from '../testing/manifests.ts';
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
