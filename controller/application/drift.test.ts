import { describe, expect, it } from '@jest/globals';
import { automated, configMap } from '../testing/fake-world.ts';
import { tidyStage } from '../testing/stage.ts';

const at = tidyStage();

const first = 'a'.repeat(40);
const second = 'b'.repeat(40);

function drift(value: string): void {
  const live = at.world.dest.get('ConfigMap', 'one');
  if (live === undefined) throw new Error('nothing is there');
  at.world.dest.put({ ...live, data: { key: value } });
}

describe('drift', () => {
  const attempts = (): unknown => at.world.app.status?.operationState?.operation.sync?.autoHealAttemptsCount;
  const healed = (): boolean => (at.world.dest.get('ConfigMap', 'one')?.['data'] as { key?: string }).key === '1';

  /** Another writer conflicts with us until the backoff is 54 seconds. */
  async function fight(): Promise<void> {
    at.world.git.push(first, [configMap('one')]);
    at.world.application(automated);
    await at.start();
    for (let turn = 0; turn < 5; turn += 1) {
      drift(`theirs ${turn}`);
      await at.clock.advance(60_000);
    }
    expect([attempts(), healed()]).toEqual([5, true]);
    drift('theirs again');
    await at.clock.advance(20_000);
    expect(healed()).toBe(false);
  }

  // T-HEAL-3
  it('after a lasting success is healed at once, like the first time', async () => {
    await fight();
    await at.clock.advance(200_000);
    expect([attempts(), healed()]).toEqual([6, true]);
    // No drift for longer than the maximum backoff.
    await at.clock.advance(310_000);
    drift('much later');
    await at.clock.advance(2000);
    expect([attempts(), healed()]).toEqual([1, true]);
  });

  // T-HEAL-3
  it('after the sync of a new commit is healed at once', async () => {
    await fight();
    at.world.git.push(second, [configMap('one', '1'), configMap('two')]);
    await at.clock.advance(125_000);
    expect(at.world.app.status?.operationState?.syncResult?.revision).toBe(second);
    drift('new');
    await at.clock.advance(2000);
    expect([attempts(), healed()]).toEqual([1, true]);
  });

  // T-HEAL-4
  it('does not make a commit wait for its backoff', async () => {
    await fight();
    at.world.git.push(second, [configMap('one', 'mended')]);
    at.world.annotate({ 'argocd.argoproj.io/refresh': 'normal' });
    await at.clock.advance(2000);
    expect(at.world.app.status?.sync).toMatchObject({ status: 'Synced', revision: second });
    expect(at.world.dest.get('ConfigMap', 'one')).toMatchObject({ data: { key: 'mended' } });
  });
});
