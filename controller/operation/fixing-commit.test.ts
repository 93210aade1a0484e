import { describe, expect, it } from '@jest/globals';
import { DriftlessError } from '#base';
import { automated, configMap } from '../testing/fake-world.ts';
import { wave } from '../testing/manifests.ts';
import { tidyStage } from '../testing/stage.ts';

const at = tidyStage();

const first = 'a'.repeat(40);
const second = 'b'.repeat(40);

// T-HEAL-4
describe('a commit that fixes a failed sync', () => {
  // T-HEAL-4
  it('is used by the next retry if it arrives before it, where retries take the latest revision', async () => {
    at.world.git.push(first, [configMap('bad')]);
    at.world.application(automated);
    const refuse = (call: string): void => {
      if (call === 'create ConfigMap bad') throw new DriftlessError('X', 'bad');
    };
    await at.start({ dest: { before: refuse }, config: { retryLatestRevision: true } });
    expect(at.world.app.status?.operationState).toMatchObject({ phase: 'Running', retryCount: 1 });
    at.world.git.push(second, [configMap('good')]);
    await at.clock.advance(6000);
    expect(at.world.app.status?.operationState).toMatchObject({ phase: 'Succeeded', syncResult: { revision: second } });
    expect(at.names()).toEqual(['good']);
  });

  // T-HEAL-4
  it.each(['one', 'two'])('is synced after the running sync if it arrives while %s is applied', async (name) => {
    at.world.git.push(first, [configMap('one', '1', wave(0)), configMap('two', '1', wave(1))]);
    at.world.application(automated);
    const push = (call: string): void => {
      if (call !== `create ConfigMap ${name}`) return;
      at.world.git.push(second, [configMap('one', '2', wave(0)), configMap('two', '2', wave(1))]);
      at.world.annotate({ 'argocd.argoproj.io/refresh': 'normal' });
    };
    await at.start({ dest: { after: push } });
    await at.clock.advance(5000);
    expect(at.world.app.status?.sync).toMatchObject({ status: 'Synced', revision: second });
    expect(at.world.app.status?.history?.map(({ revision }) => revision)).toEqual([first, second]);
  });
});
