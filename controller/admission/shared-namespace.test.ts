import { describe, expect, it } from '@jest/globals';
import type { ApplicationSpec } from '#model';
import { automated, configMap } from '../testing/fake-world.ts';
import { cascade } from '../testing/manifests.ts';
import { tidyStage } from '../testing/stage.ts';

const at = tidyStage();

const first = 'a'.repeat(40);
const second = 'b'.repeat(40);
const third = 'c'.repeat(40);
const fourth = 'd'.repeat(40);

const sourceAt = (targetRevision: string): Partial<ApplicationSpec> => ({
  source: { repoURL: 'https://git/x', path: 'p', targetRevision },
});

const deletions = (): readonly string[] => at.world.dest.calls.filter((call) => call.startsWith('delete'));

const writes = (): number => at.world.writes().length;

/** The commit it points to in Git. */
function point(name: string, targetRevision: string): void {
  at.world.edit((object) => ({ spec: { ...(object['spec'] as object), ...sourceAt(targetRevision) } }), name);
}

// T-PRUNE-3
describe('a Namespace of two Applications', () => {
  const shared = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shared' } };

  /** Both have it in Git; the tracking names `demo`. */
  async function both(policy: object = automated): Promise<void> {
    at.world.git.push(first, [shared, configMap('one')]);
    at.world.git.push(second, [configMap('one', '2')]);
    at.world.git.push(third, [shared, configMap('two')]);
    at.world.git.push(fourth, [configMap('two')]);
    at.world.application({ ...sourceAt(first), ...policy });
    await at.start();
    at.world.application(sourceAt(third), { metadata: { name: 'other', namespace: 'argocd' } });
    await at.clock.advance(2000);
    expect(at.world.applicationOf('other').status?.resources?.map(({ name }) => name)).toEqual(['two', 'shared']);
  }

  const policies = [automated, { syncPolicy: { automated: { prune: true } } }];
  // T-PRUNE-3
  it.each(policies)('stays when one of them drops it, and is deleted with the last one: %j', async (policy) => {
    await both(policy);
    point('demo', second);
    await at.clock.advance(600_000);
    expect(at.names()).toEqual(['one', 'shared']);
    const state = at.world.app.status?.operationState;
    expect(state).toMatchObject({ phase: 'Succeeded', syncResult: { revision: second } });
    expect(state?.syncResult?.resources?.find(({ name }) => name === 'shared')).toMatchObject({
      status: 'PruneSkipped',
      message: 'ignored (application argocd/other also manages it)',
    });
    const before = writes();
    await at.clock.advance(1_200_000);
    expect([writes() - before, at.world.app.status?.operationState?.startedAt]).toEqual([0, state?.startedAt]);
    point('other', fourth);
    await at.clock.advance(600_000);
    expect(at.names()).toEqual(['one']);
    expect(at.world.app.status?.sync?.status).toBe('Synced');
  });

  // T-PRUNE-3
  it('reports the same to a user who prunes', async () => {
    await both();
    point('demo', second);
    await at.clock.advance(2000);
    at.world.edit(() => ({ operation: { sync: { prune: true } } }));
    await at.clock.advance(5000);
    expect(at.world.app.status?.operationState?.phase).toBe('Succeeded');
    expect([at.names(), deletions()]).toEqual([['one', 'shared'], []]);
  });

  // T-PRUNE-3
  it('stays when one of them is deleted with its resources', async () => {
    await both();
    at.setDeleting([cascade]);
    await at.clock.advance(30_000);
    expect(at.world.hub.get('Application', 'demo')).toBeUndefined();
    expect(at.names()).toEqual(['shared']);
  });

  it.each<[string, Partial<ApplicationSpec>, () => void]>([
    ['goes to another cluster', { destination: { server: 'https://elsewhere', namespace: 'apps' } }, () => undefined],
    [
      'is not permitted it by its project',
      { project: 'small' },
      () => at.world.project('small', { clusterResourceWhitelist: [] }),
    ],
    ['has no project', { project: 'none' }, () => undefined],
    // T-PRUNE-3
  ])('is not kept by one that names it and %s', async (_name, over, prepare) => {
    prepare();
    await both();
    // An edit by a user who may write Applications: the status still names the object.
    at.world.edit((object) => ({ spec: { ...(object['spec'] as object), ...over } }), 'other');
    point('demo', second);
    await at.clock.advance(2000);
    expect(at.names()).toEqual(['one']);
  });
});
