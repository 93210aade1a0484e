import { describe, expect, it } from '@jest/globals';
import { KubeApiError } from '#kube';
import { automated, configMap } from '../testing/fake-world.ts';
import { tidyStage } from '../testing/stage.ts';

const at = tidyStage(({ git }) => git.push('a'.repeat(40), [configMap('one'), configMap('two')]));

const refresh = 'argocd.argoproj.io/refresh';

// T-API-1
describe('API servers that answer 429 for a minute', () => {
  const slowDown = (): never => {
    const status = { code: 429, reason: 'TooManyRequests', message: 'slow down', retryAfterMs: 1000 };
    throw new KubeApiError(status, 'fake');
  };

  // T-API-1
  it.each([['hub'], ['dest']] as const)(
    'of the %s get few requests, and all work is done afterwards',
    async (which) => {
      let isBusy = false;
      let refused = 0;
      const before = (call: string): void => {
        if (!isBusy || /^(?:list|watch)/.test(call)) return;
        refused += 1;
        slowDown();
      };
      at.world.application(automated);
      await at.start({ [which]: { before } });
      expect(at.world.app.status?.sync?.status).toBe('Synced');
      isBusy = true;
      at.world.git.push('b'.repeat(40), [configMap('one'), configMap('two', 'new'), configMap('three')]);
      at.world.dest.delete('ConfigMap', 'one');
      at.world.annotate({ [refresh]: 'normal' });
      await at.clock.advance(60_000);
      expect(refused).toBeGreaterThan(0);
      // Three objects, each at most once a second, with their Events.
      expect(refused).toBeLessThan(300);
      isBusy = false;
      await at.clock.advance(300_000);
      expect(at.world.app.status?.sync).toMatchObject({ status: 'Synced', revision: 'b'.repeat(40) });
      expect(at.world.app.status?.operationState?.phase).toBe('Succeeded');
      expect(at.world.dest.get('ConfigMap', 'two')).toMatchObject({ data: { key: 'new' } });
      expect(['one', 'three'].map((name) => at.world.dest.get('ConfigMap', name)?.kind)).toEqual([
        'ConfigMap',
        'ConfigMap',
      ]);
    },
  );
});
