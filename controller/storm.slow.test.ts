import { describe, expect, it } from '@jest/globals';
import { automated, configMap } from './testing/fake-world.ts';
import { stage } from './testing/stage.ts';

const at = stage();

// T-STORM-2
describe('a hundred new Applications at once', () => {
  // T-STORM-2
  it('are compared and synced within a minute in a namespace whose orphans each of them watches', async () => {
    const { clock, world } = at;
    const spec = { orphanedResources: { warn: true } };
    world.project('default', spec);
    for (let i = 0; i < 20; i += 1)
      world.dest.put({ ...configMap(`orphan-${i}`), metadata: { name: `orphan-${i}`, namespace: 'apps' } });
    world.replica({ config: { statusProcessors: 20, operationProcessors: 10 } });
    const names = Array.from({ length: 100 }, (_, i) => `new-${i}`);
    for (const [i, name] of names.entries()) {
      const sha = String(i).padStart(40, '0');
      world.git.commits.set(sha, [configMap(name)]);
      const source = { repoURL: 'https://git/x', path: 'p', targetRevision: sha };
      world.application({ ...automated, source }, { metadata: { name } });
    }
    // Each sync changes the namespace for all others, and another writer changes it too.
    for (let turn = 0; turn < 10; turn += 1) {
      const metadata = { name: `orphan-${turn}`, namespace: 'apps' };
      world.dest.put({ ...configMap(metadata.name, 'changed'), metadata });
      await clock.advance(6000);
    }
    const notYet = names.filter((name) => {
      const status = world.hub.get('Application', name)?.['status'] as { sync?: { status?: string } } | undefined;
      return status?.sync?.status !== 'Synced';
    });
    expect(notYet).toEqual([]);
    const conditions = JSON.stringify(world.hub.get('Application', 'new-7')?.['status']);
    expect(conditions).toMatch(/OrphanedResourceWarning.*Application has \d+ orphaned resources/);
  }, 240_000);
});
