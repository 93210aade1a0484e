import { describe, expect, it } from '@jest/globals';
import { KubeApiError } from '#kube';
import { isCompleted } from '#model';
import type { KubeObject } from '#model';
import { automated, configMap } from '../testing/fake-world.ts';
import { cascade, hook, job, succeeded, wave } from '../testing/manifests.ts';
import { tidyStage } from '../testing/stage.ts';

/** Operations and deletions that never ended, here or in public reports. */
const at = tidyStage();
const first = 'a'.repeat(40);
const preDelete = 'pre-delete-finalizer.argocd.argoproj.io';
const postDelete = 'post-delete-finalizer.argocd.argoproj.io';

const refuse = (text: string, code: number, message: string): { readonly before: (call: string) => void } => ({
  before: (call) => {
    if (call.startsWith(text)) throw new KubeApiError({ code, reason: code === 404 ? 'NotFound' : '', message }, 'x');
  },
});

describe('a hook', () => {
  it.each<[string, () => void]>([
    ['itself', () => at.world.dest.delete('Job', 'hook')],
    [
      'its namespace',
      () => {
        for (const { kind, metadata } of at.world.dest.objects.values())
          at.world.dest.delete(kind, metadata.name ?? '');
      },
    ],
  ])('that deletes %s ends its operation', async (_what, act) => {
    const namespace: KubeObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'apps' } };
    at.world.git.push(first, [namespace, configMap('one'), job('hook', hook('PostSync'))]);
    at.world.application({}, { operation: { sync: {} } });
    await at.start();
    expect([at.phase(), at.names()]).toEqual(['Running', ['apps', 'hook', 'one']]);
    // Without the finalizer that keeps it until its end is recorded.
    const live = at.world.dest.get('Job', 'hook')!;
    at.world.dest.put({ ...live, metadata: { ...live.metadata, finalizers: [] } });
    act();
    await at.pass(60);
    expect(isCompleted(at.world.app.status!.operationState!.phase)).toBe(true);
  });

  it('that deletes the Application ends with it', async () => {
    at.world.git.push(first, [configMap('one'), job('hook', hook('PreSync'))]);
    at.world.application({}, { operation: { sync: {} } });
    await at.start();
    at.setDeleting([cascade]);
    await at.pass(60);
    expect([at.isGone(), at.names()]).toEqual([true, []]);
  });

  it('that another controller holds lets the next operation wait, with a condition (argo-cd 26180)', async () => {
    const held = configMap('hook', '1', hook('PreSync'));
    at.world.git.push(first, [{ ...held, metadata: { ...held.metadata, finalizers: ['example.com/held'] } }]);
    at.world.application({}, { operation: { sync: {} } });
    await at.start();
    expect(at.phase()).toBe('Succeeded');
    at.world.edit(() => ({ operation: { sync: {} } }));
    await at.pass(420);
    expect(at.phase()).toBe('Running');
    expect(at.conditions()).toEqual([
      expect.stringMatching(/^WaitingWarning: The operation .*deletion of hook \/ConfigMap\/hook/),
    ]);
    const live = at.world.dest.get('ConfigMap', 'hook')!;
    at.world.dest.put({ ...live, metadata: { ...live.metadata, finalizers: [] } });
    await at.pass(60);
    expect([at.phase(), at.conditions()]).toEqual(['Succeeded', []]);
  });

  it('is created again after a failed attempt deleted it (argo-cd 27507)', async () => {
    let refuses = true;
    const before = (call: string): void => {
      if (refuses && call.startsWith('create ConfigMap one'))
        throw new KubeApiError({ code: 400, reason: '', message: 'no' }, 'x');
    };
    at.world.git.push(first, [configMap('one'), job('hook', hook('Sync'), succeeded)]);
    at.world.application({}, { operation: { sync: {}, retry: { limit: -1, backoff: { duration: '5s', factor: 1 } } } });
    await at.start({ dest: { before } });
    await at.pass(30);
    expect(at.world.app.status?.operationState?.retryCount).toBeGreaterThan(1);
    refuses = false;
    await at.pass(30);
    expect(at.phase()).toBe('Succeeded');
  });
});

describe('a deletion', () => {
  it('with a PreDelete hook whose namespace never existed says so', async () => {
    at.world.git.push(first, [configMap('one'), job('hook', hook('PreDelete'), succeeded)]);
    at.world.application({}, { operation: { sync: {} } });
    await at.start({ dest: refuse('create Job', 404, 'namespaces "apps" not found') });
    at.setDeleting([cascade, preDelete]);
    await at.pass(60);
    expect(at.conditions()).toEqual([
      expect.stringMatching(/^DeletionError: .*namespaces "apps" not found.*finalizers/),
    ]);
  });

  it('with PostDelete hooks that are no Jobs ends (argo-cd 17191)', async () => {
    const objects = [
      configMap('one'),
      configMap('account', '1', hook('PostDelete')),
      job('hook', hook('PostDelete'), succeeded),
    ];
    at.world.git.push(first, objects);
    at.world.application({}, { operation: { sync: {} } });
    await at.start();
    at.setDeleting([cascade, postDelete, `${postDelete}/cleanup`]);
    await at.pass(60);
    expect(at.isGone()).toBe(true);
  });

  it('whose project is gone ends, or says why it does not (argo-cd 1329)', async () => {
    at.world.git.push(first, [configMap('one')]);
    at.world.application({}, { operation: { sync: {} } });
    await at.start();
    at.world.hub.delete('AppProject', 'default');
    at.setDeleting([cascade]);
    await at.pass(60);
    if (!at.isGone()) expect(at.conditions().join()).toContain('DeletionError');
  });
});

describe('an operation', () => {
  it('that fails is not started again by automated sync without retries (argo-cd 22639)', async () => {
    at.world.git.push(first, [configMap('one')]);
    at.world.application({ syncPolicy: { ...automated.syncPolicy, retry: { limit: 0 } } });
    await at.start({ dest: refuse('create ConfigMap', 403, 'no') });
    await at.pass(1200);
    expect(new Set(at.world.statuses().flatMap(({ operationState }) => operationState?.startedAt ?? [])).size).toBe(1);
    expect(at.conditions()).toEqual([expect.stringContaining('SyncError: Failed last sync attempt')]);
  });

  it.each<object>([
    { sync: 'yes' },
    { sync: null },
    { sync: [] },
    { sync: { revision: 5 } },
    { sync: { resources: 'all' } },
    { sync: { resources: [null] } },
    { sync: { resources: [{ kind: 5, name: {} }] } },
    { sync: { syncOptions: 'Replace=true' } },
    { sync: { syncOptions: [1] } },
    { sync: { source: 7 } },
    { sync: { sources: {} } },
    { sync: { manifests: 5 } },
    { sync: { manifests: [5] } },
    { sync: { prune: 'no' } },
    { sync: {}, retry: 'often' },
    { sync: {}, retry: { limit: 'x', backoff: 5 } },
    { sync: {}, retry: { limit: 2, backoff: { duration: 5, factor: 'x', maxDuration: [] } } },
    { sync: {}, initiatedBy: 'me' },
    { info: 5 },
    {},
  ])('written by hand as %j ends, or a condition says why not', async (operation) => {
    at.world.git.push(first, [configMap('one')]);
    at.world.application();
    await at.start();
    at.world.edit(() => ({ operation }));
    await at.pass(60);
    const isOver = isCompleted(at.world.app.status?.operationState?.phase ?? 'Running');
    expect([isOver || at.conditions().some((text) => text.includes('Error: ')), at.conditions(), at.phase()]).toEqual([
      true,
      at.conditions(),
      at.phase(),
    ]);
    // A valid one runs afterwards.
    at.world.edit(() => ({ operation: { sync: { revision: first } } }));
    await at.pass(60);
    expect([at.phase(), at.names()]).toEqual(['Succeeded', ['one']]);
  });

  it('ends when it is terminated, after each of its steps', async () => {
    const objects = [
      job('before', hook('PreSync'), succeeded),
      configMap('one', '1', wave(0)),
      configMap('two', '1', wave(1)),
      job('after', hook('PostSync'), succeeded),
    ];
    const ends: string[] = [];
    for (let writes = 1; writes <= 6; writes += 1) {
      if (writes > 1) at.renew();
      at.world.git.push(first, objects);
      at.world.application({}, { operation: { sync: { revision: first } } });
      let left = writes;
      const stop = at.world.hub.onEvent(({ object }) => {
        if (object.kind !== 'Application' || at.phase() !== 'Running') return;
        left -= 1;
        if (left === 0) at.terminate();
      });
      await at.start();
      await at.pass(90);
      stop();
      ends.push(at.phase());
      await at.world.close(at.clock);
    }
    expect(ends.every((end) => end === 'Failed' || end === 'Succeeded')).toBe(true);
    expect(ends[0]).toBe('Failed');
  });
});
