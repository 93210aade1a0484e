import { describe, expect, it } from '@jest/globals';
import { automated, configMap } from '../testing/fake-world.ts';
import { tidyStage } from '../testing/stage.ts';

const at = tidyStage();
const [first, second] = ['a'.repeat(40), 'b'.repeat(40)];
const kept = { 'argocd.argoproj.io/sync-options': 'Prune=false' };

const warnings = (): readonly string[] =>
  (at.world.app.status?.conditions ?? []).filter(({ type }) => type === 'KeptResourceWarning').map((c) => c.message);

/** Start times of all operations so far. */
const operations = (): ReadonlySet<string> =>
  new Set(at.world.statuses().flatMap(({ operationState }) => operationState?.startedAt ?? []));

describe('an automated Application', () => {
  it.each<[string, object, Record<string, string>]>([
    ['the object', automated, kept],
    ['the Application', { syncPolicy: { ...automated.syncPolicy, syncOptions: ['Prune=false'] } }, {}],
  ])('starts no syncs for an object that Prune=false of %s keeps, and says so', async (_name, spec, annotations) => {
    at.world.git.push(first, [configMap('one'), configMap('two', '1', annotations)]);
    at.world.application(spec);
    await at.start();
    at.world.git.push(second, [configMap('one')]);
    await at.pass(1800);
    expect(operations().size).toBe(1);
    expect(at.world.app.status?.sync?.status).toBe('OutOfSync');
    expect(warnings()).toEqual([expect.stringContaining('ConfigMap apps/two (Prune=false)')]);
    // Other drift is still repaired.
    at.world.dest.delete('ConfigMap', 'one');
    await at.pass(60);
    expect(at.names()).toContain('one');
    at.world.dest.delete('ConfigMap', 'two');
    await at.pass(60);
    expect([warnings(), at.world.app.status?.sync?.status]).toEqual([[], 'Synced']);
  });

  // https://github.com/kubernetes-sigs/cli-utils/issues/274
  it('keeps a Namespace while the sources have objects in it, says so, and prunes it with them', async () => {
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'apps' } };
    const global = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'other' } };
    at.world.git.push(first, [namespace, global, configMap('one')]);
    at.world.application(automated);
    await at.start();
    const isThere = (): boolean => at.world.dest.get('Namespace', 'apps') !== undefined;
    at.world.git.push(second, [global, configMap('one')]);
    await at.pass(1800);
    expect([isThere(), operations().size]).toEqual([true, 1]);
    expect(warnings()).toEqual([expect.stringContaining('Namespace apps (objects of the sources are in it)')]);
    at.world.git.push('c'.repeat(40), [global]);
    await at.pass(1800);
    expect(isThere()).toBe(false);
  });

  it('starts no syncs for an object whose deletion does not end, and names what holds it', async () => {
    at.world.git.push(first, [configMap('one'), configMap('two')]);
    at.world.application(automated);
    await at.start();
    const two = at.world.dest.get('ConfigMap', 'two')!;
    at.world.dest.put({ ...two, metadata: { ...two.metadata, finalizers: ['foregroundDeletion'] } });
    at.world.git.push(second, [configMap('one')]);
    await at.pass(1800);
    expect(operations().size).toBe(2);
    expect(warnings()).toEqual([expect.stringMatching(/ConfigMap apps\/two \(.*held by foregroundDeletion\)/)]);
  });

  it.each([false, true])(
    'prunes an object that was given an owner, unless that one controls it, and says so (controller: %s)',
    async (controller) => {
      at.world.git.push(first, [configMap('one'), configMap('two')]);
      at.world.application(automated);
      await at.start();
      const two = at.world.dest.get('ConfigMap', 'two')!;
      const { uid = '' } = at.world.dest.get('ConfigMap', 'one')!.metadata;
      const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'one', uid, controller }];
      at.world.dest.put({ ...two, metadata: { ...two.metadata, ownerReferences }, data: { key: 'drifted' } });
      await at.pass(60);
      expect(at.world.dest.get('ConfigMap', 'two')?.['data']).toEqual(two['data']);
      at.world.git.push(second, [configMap('one')]);
      await at.pass(1800);
      expect(at.names()).toEqual(controller ? ['one', 'two'] : ['one']);
      if (!controller) return;
      expect([at.world.app.status?.sync?.status, operations().size]).toEqual(['OutOfSync', 2]);
      expect(warnings()).toEqual([
        expect.stringContaining('two (ConfigMap/one controls it; Prune=true would delete it)'),
      ]);
      const last = at.world.dest.get('ConfigMap', 'two')!;
      const notes = { ...last.metadata.annotations, 'argocd.argoproj.io/sync-options': 'Prune=true' };
      at.world.dest.put({ ...last, metadata: { ...last.metadata, annotations: notes } });
      await at.pass(1800);
      expect(at.names()).toEqual(['one']);
    },
  );

  it('syncs the rest after a user has synced one object before, without self-heal', async () => {
    at.world.git.push(first, [configMap('one'), configMap('two')]);
    at.world.application();
    await at.start();
    at.world.edit(() => ({
      operation: { sync: { revision: first, resources: [{ kind: 'ConfigMap', name: 'one' }] } },
    }));
    await at.pass(20);
    expect(at.names()).toEqual(['one']);
    at.world.edit((object) => ({ spec: { ...(object['spec'] as object), syncPolicy: { automated: {} } } }));
    await at.pass(60);
    expect([at.names(), operations().size]).toEqual([['one', 'two'], 2]);
    at.world.dest.delete('ConfigMap', 'two');
    await at.pass(300);
    expect([at.names(), operations().size]).toEqual([['one'], 2]);
  });
});
