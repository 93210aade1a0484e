import { describe, expect, it } from '@jest/globals';
import { configMap } from '../testing/fake-world.ts';
import { tidyStage } from '../testing/stage.ts';

const at = tidyStage(({ git }) => git.push('a'.repeat(40), [configMap('one'), configMap('two')]));

// T-CACHE-2
describe('a cluster that never published a schema', () => {
  // T-CACHE-2
  it.each([['ServerSideApply=true'], ['ServerSideApply=false'], ['Replace=true']])(
    'is still written to, with %s, and no schema is requested before a write',
    async (how) => {
      at.world.application({ syncPolicy: { automated: { prune: true, selfHeal: true }, syncOptions: [how] } });
      const before = (call: string): void => {
        if (call === 'openapi') throw new Error('503');
      };
      await at.start({ dest: { before } });
      expect(at.world.app.status?.sync?.status).toBe('Synced');
      at.world.dest.put({ ...at.world.dest.get('ConfigMap', 'one')!, data: { key: 'by hand' } });
      await at.clock.advance(10_000);
      expect(at.world.dest.get('ConfigMap', 'one')).toMatchObject({ data: { key: '1' } });
    },
  );
});
