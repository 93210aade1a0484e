import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { KubeObject } from '#model';
import { config, synced } from './objects.ts';
import { World } from './world.ts';
import type { GitFixture } from './world.ts';

let world: World;
let repo: GitFixture;

beforeEach(async () => {
  world = await World.start();
  repo = world.repository('sample');
});
afterEach(() => world.close());

const serverSide = (...options: string[]): object => ({
  syncPolicy: { syncOptions: ['ServerSideApply=true', ...options] },
});
const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';

/** Creates an object as a client-side apply of two keys leaves it. */
const leftBy = (manager: string): void =>
  void world.cluster.store.create(
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'a', namespace: 'apps', annotations: { [lastApplied]: '{}' } },
      data: { key: '1', dropped: '1' },
    },
    manager,
  );

/** Syncs with these options and returns the live object. */
async function applied(name: string, ...options: string[]): Promise<KubeObject | undefined> {
  world.sync(name, { syncOptions: ['ServerSideApply=true', ...options] });
  await world.until(
    name,
    (app) => {
      expect(app.operation ?? null).toBeNull();
      expect(app.status?.operationState?.phase).toBe('Succeeded');
    },
    60_000,
  );
  return world.live('', 'ConfigMap', 'a');
}

const managersOf = (object: KubeObject | undefined): unknown =>
  (object?.metadata.managedFields as readonly { manager: string; operation: string }[]).map(
    ({ manager, operation }) => `${manager} ${operation}`,
  );

describe('from client-side to server-side apply', () => {
  it('removes fields that kubectl applied and Git dropped, and the last-applied annotation', async () => {
    repo.commit({ 'app/a.yaml': config('a') });
    await world.replica();
    leftBy('kubectl-client-side-apply');
    world.application('demo', { ...repo.source(), ...serverSide() });
    const live = await applied('demo');
    expect(live?.['data']).toEqual({ key: '1' });
    expect(live?.metadata.annotations).not.toHaveProperty([lastApplied]);
    expect(managersOf(live)).toEqual(['argocd-controller Apply']);
    await world.until('demo', synced, 60_000);
  });

  it('migrates the manager that the annotation names, and none with ClientSideApplyMigration=false', async () => {
    repo.commit({ 'app/a.yaml': config('a') });
    await world.replica();
    leftBy('helm');
    world.tamper('', 'ConfigMap', 'a', {
      metadata: { ...world.live('', 'ConfigMap', 'a')?.metadata, annotations: {} },
    });
    const name = 'argocd.argoproj.io/client-side-apply-migration-manager';
    world.application('demo', { ...repo.source(), ...serverSide() }, { annotations: { [name]: 'helm' } });
    expect((await applied('demo', 'ClientSideApplyMigration=false'))?.['data']).toEqual({ key: '1', dropped: '1' });
    expect((await applied('demo'))?.['data']).toEqual({ key: '1' });
  });
});
