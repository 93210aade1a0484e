import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { FakeClock } from '#support';
import { automated, configMap, FakeWorld } from '../testing/fake-world.ts';

const [first, second] = ['a'.repeat(40), 'b'.repeat(40)];

let clock: FakeClock;
let world: FakeWorld;

beforeEach(() => {
  clock = new FakeClock();
  world = new FakeWorld(clock);
  world.git.sourceType = 'Helm';
  world.git.push(first, [configMap('one'), configMap('two')]);
});
afterEach(async () => {
  await world.close(clock);
});

async function start(spec: object): Promise<void> {
  world.application(spec);
  world.replica();
  await clock.advance(2000);
  expect(world.app.status?.sync?.status).toBe('Synced');
}

const conditions = (): readonly string[] => (world.app.status?.conditions ?? []).map(({ type }) => type);
const has = (name: string): boolean => world.dest.get('ConfigMap', name) !== undefined;

describe('while an API group cannot be read', () => {
  it('a chart loses nothing, starts no needless operation, and is pruned soon after the group is back', async () => {
    await start(automated);
    world.dest.failedGroups.set('acme.io', 'it does not answer');
    world.git.push(second, [configMap('one')]);
    const before = world.app.status?.operationState?.startedAt;
    await clock.advance(1_800_000);
    expect([has('two'), conditions()]).toEqual([true, ['IncompleteDiscoveryWarning']]);
    expect(world.app.status?.operationState?.startedAt).toBe(before);
    world.dest.failedGroups.clear();
    await clock.advance(40_000);
    expect([has('two'), conditions(), world.app.status?.sync?.status]).toEqual([false, [], 'Synced']);
  });

  it('objects that a sync had to leave are pruned afterwards, even without self-heal', async () => {
    await start({ syncPolicy: { automated: { prune: true } } });
    world.dest.failedGroups.set('acme.io', 'it does not answer');
    world.git.push(second, [configMap('one', 'changed')]);
    await clock.advance(200_000);
    const { phase, syncResult } = world.app.status?.operationState ?? {};
    expect([phase, syncResult?.revision]).toEqual(['Succeeded', second]);
    expect(syncResult?.resources?.find(({ name }) => name === 'two')?.status).toBe('PruneSkipped');
    expect(has('two')).toBe(true);
    world.dest.failedGroups.clear();
    await clock.advance(40_000);
    expect([has('two'), world.app.status?.sync?.status]).toEqual([false, 'Synced']);
  });

  it('a manual sync with prune leaves objects that the sources no longer name', async () => {
    await start({ syncPolicy: { automated: {} } });
    world.dest.failedGroups.set('acme.io', 'it does not answer');
    world.git.push(second, [configMap('one')]);
    world.edit(() => ({ operation: { sync: { revision: second, prune: true } } }));
    await clock.advance(20_000);
    expect(world.app.status?.operationState?.phase).toBe('Succeeded');
    expect(has('two')).toBe(true);
  });

  it.each(['Directory', 'Kustomize'] as const)('a source of type %s is pruned as usual', async (type) => {
    world.git.sourceType = type;
    await start(automated);
    world.dest.failedGroups.set('acme.io', 'it does not answer');
    world.git.push(second, [configMap('one')]);
    await clock.advance(130_000);
    expect([has('two'), conditions()]).toEqual([false, []]);
  });

  it('a chart is not pruned while a server may not name all its kinds yet', async () => {
    await start(automated);
    world.unsure = 'discovery has been made only a moment ago';
    world.git.push(second, [configMap('one')]);
    await clock.advance(130_000);
    expect([has('two'), conditions()]).toEqual([true, ['IncompleteDiscoveryWarning']]);
    world.unsure = undefined;
    await clock.advance(40_000);
    expect([has('two'), conditions()]).toEqual([false, []]);
  });

  it('a deletion waits for hooks that may not be rendered, and reports the reason', async () => {
    const finalizers = ['resources-finalizer.argocd.argoproj.io', 'pre-delete-finalizer.argocd.argoproj.io'];
    world.git.push(second, [configMap('one'), configMap('backup', '1', { 'argocd.argoproj.io/hook': 'PreDelete' })]);
    world.application(automated, { metadata: { name: 'demo', namespace: 'argocd', finalizers } });
    world.replica();
    await clock.advance(2000);
    world.dest.failedGroups.set('acme.io', 'it does not answer');
    world.dest.hasCompleteList = false;
    world.git.push('c'.repeat(40), [configMap('one')]);
    await clock.advance(130_000);
    expect(world.app.metadata.finalizers).toContain('pre-delete-finalizer.argocd.argoproj.io');
    world.hub.delete('Application', 'demo');
    await clock.advance(60_000);
    expect(has('one')).toBe(true);
    const message = world.app.status?.conditions?.find(({ type }) => type === 'DeletionError')?.message;
    expect(message).toContain('acme.io: it does not answer');
    world.dest.failedGroups.clear();
    await clock.advance(60_000);
    expect(world.hub.get('Application', 'demo')).toBeUndefined();
    expect(has('one')).toBe(false);
  });
});
