import { describe, expect, it } from '@jest/globals';
import { automated, configMap } from '../testing/fake-world.ts';
import { wave } from '../testing/manifests.ts';
import { tidyStage } from '../testing/stage.ts';

const at = tidyStage(({ git }) => git.push('a'.repeat(40), [configMap('one'), configMap('two')]));

describe('a deletion with the finalizer', () => {
  it('removes by descending wave, and waits for each wave', async () => {
    at.world.git.push('a'.repeat(40), [configMap('first', '1', wave(0)), configMap('last', '1', wave(5))]);
    at.world.application(automated, {
      metadata: { name: 'demo', namespace: 'argocd', finalizers: ['resources-finalizer.argocd.argoproj.io'] },
    });
    await at.start();
    expect(at.world.dest.get('ConfigMap', 'last')).toMatchObject({ data: { key: '1' } });
    at.world.dest.put({
      ...at.world.dest.get('ConfigMap', 'last')!,
      metadata: { ...at.world.dest.get('ConfigMap', 'last')!.metadata, finalizers: ['example.com/slow'] },
    });
    await at.clock.advance(1000);
    at.world.hub.delete('Application', 'demo');
    await at.clock.advance(60_000);
    expect(at.world.dest.get('ConfigMap', 'first')).toMatchObject({ data: { key: '1' } });
    const last = at.world.dest.get('ConfigMap', 'last')!;
    at.world.dest.put({ ...last, metadata: { ...last.metadata, finalizers: [] } });
    await at.clock.advance(20_000);
    expect(at.world.dest.get('ConfigMap', 'first')).toBeUndefined();
    expect(at.world.hub.get('Application', 'demo')).toBeUndefined();
  });

  it('reports why it is blocked, and continues when it can', async () => {
    at.world.application(automated, {
      metadata: { name: 'demo', namespace: 'argocd', finalizers: ['resources-finalizer.argocd.argoproj.io'] },
    });
    await at.start();
    at.world.degraded = [
      { group: '', kind: 'ConfigMap', version: 'v1', state: 'degraded', message: 'watch failed', objects: 2 },
    ];
    at.world.hub.delete('Application', 'demo');
    await at.clock.advance(10_000);
    expect(at.world.app.status?.conditions).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          type: 'DeletionError',
          message: 'the live state of /ConfigMap is not up to date: watch failed',
        }),
      ]),
    );
    at.world.degraded = [];
    await at.clock.advance(20_000);
    expect(at.world.hub.get('Application', 'demo')).toBeUndefined();
    expect(at.world.dest.get('ConfigMap', 'one')).toBeUndefined();
  });

  /** A synced ConfigMap and Job of an Application with a cascade finalizer. */
  async function startWithJob(): Promise<void> {
    const job = { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'two' }, spec: {} };
    at.world.git.push('a'.repeat(40), [configMap('one'), job]);
    at.world.application(automated, {
      metadata: { name: 'demo', namespace: 'argocd', finalizers: ['resources-finalizer.argocd.argoproj.io'] },
    });
    await at.start();
    expect(at.world.dest.get('Job', 'two')).toMatchObject(job);
  }

  it('leaves nothing behind of a kind that discovery has failed to read since the start', async () => {
    await startWithJob();
    at.world.dest.failedGroups.set('batch', 'too many requests');
    at.world.hub.delete('Application', 'demo');
    await at.clock.advance(10_000);
    const message = 'the live state of batch/Job cannot be read: too many requests';
    expect(at.world.app.status?.conditions).toContainEqual(expect.objectContaining({ type: 'DeletionError', message }));
    at.world.dest.failedGroups.clear();
    await at.clock.advance(30_000);
    expect([at.world.hub.get('Application', 'demo'), at.world.dest.get('Job', 'two')]).toEqual([undefined, undefined]);
  });

  it.each(['a prune', 'a cascade'])(
    '%s keeps objects that were handed to another Application just before',
    async (what) => {
      at.world.git.push('a'.repeat(40), [configMap('one'), configMap('moved')]);
      at.world.application(automated, {
        metadata: { name: 'demo', namespace: 'argocd', finalizers: ['resources-finalizer.argocd.argoproj.io'] },
      });
      const others = { 'argocd.argoproj.io/tracking-id': 'other:/ConfigMap:apps/moved' };
      const before = (call: string): void => {
        const moved = at.world.dest.get('ConfigMap', 'moved');
        if (call !== 'delete ConfigMap moved' || moved === undefined) return;
        at.world.dest.put({ ...moved, metadata: { ...moved.metadata, annotations: others } });
      };
      await at.start({ dest: { before } });
      expect(at.world.dest.get('ConfigMap', 'moved')).toMatchObject(configMap('moved'));
      if (what === 'a cascade') at.world.hub.delete('Application', 'demo');
      else at.world.git.push('b'.repeat(40), [configMap('one')]);
      await at.clock.advance(200_000);
      expect(at.world.dest.calls).toContain('delete ConfigMap moved');
      expect(at.world.dest.get('ConfigMap', 'moved')?.metadata.annotations).toEqual(others);
      if (what === 'a cascade') {
        expect([at.world.hub.get('Application', 'demo'), at.world.dest.get('ConfigMap', 'one')]).toEqual([
          undefined,
          undefined,
        ]);
      } else {
        expect(at.world.app.status?.operationState?.phase).toBe('Succeeded');
        expect(at.world.app.status?.sync?.status).toBe('Synced');
      }
    },
  );

  it('waits for a kind missing from discovery until discovery is known to be complete', async () => {
    await startWithJob();
    at.world.dest.unnamedGroups.add('batch');
    at.world.unsure = 'discovery does not name it';
    at.world.hub.delete('Application', 'demo');
    await at.clock.advance(10_000);
    const message = 'the live state of batch/Job cannot be read: discovery does not name it';
    expect(at.world.app.status?.conditions).toContainEqual(expect.objectContaining({ type: 'DeletionError', message }));
    at.world.dest.unnamedGroups.clear();
    at.world.unsure = undefined;
    await at.clock.advance(30_000);
    expect([at.world.hub.get('Application', 'demo'), at.world.dest.get('Job', 'two')]).toEqual([undefined, undefined]);
  });

  it('does not wait for a kind that is no longer served', async () => {
    await startWithJob();
    at.world.dest.unnamedGroups.add('batch');
    at.world.hub.delete('Application', 'demo');
    await at.clock.advance(30_000);
    expect([at.world.hub.get('Application', 'demo'), at.world.dest.get('ConfigMap', 'one')]).toEqual([
      undefined,
      undefined,
    ]);
  });

  it('removes a hook that still has our finalizer, although no sync is left to release it', async () => {
    at.world.application(automated, {
      metadata: { name: 'demo', namespace: 'argocd', finalizers: ['resources-finalizer.argocd.argoproj.io'] },
    });
    await at.start();
    const one = at.world.dest.get('ConfigMap', 'one')!;
    at.world.dest.put({
      ...one,
      metadata: {
        ...one.metadata,
        annotations: { ...one.metadata.annotations, 'argocd.argoproj.io/hook': 'PostSync' },
        finalizers: ['argocd.argoproj.io/hook-finalizer'],
      },
    });
    await at.clock.advance(1000);
    at.world.hub.delete('Application', 'demo');
    await at.clock.advance(30_000);
    expect(at.world.dest.get('ConfigMap', 'one')).toBeUndefined();
    expect(at.world.hub.get('Application', 'demo')).toBeUndefined();
  });

  it('runs delete hooks before and after', async () => {
    const hook = (type: string): Record<string, string> => ({ 'argocd.argoproj.io/hook': type });
    at.world.git.push('a'.repeat(40), [
      configMap('one'),
      configMap('before', '1', hook('PreDelete')),
      configMap('after', '1', hook('PostDelete')),
    ]);
    at.world.application(automated, {
      metadata: { name: 'demo', namespace: 'argocd', finalizers: ['resources-finalizer.argocd.argoproj.io'] },
    });
    await at.start();
    expect(at.world.app.metadata.finalizers).toEqual([
      'resources-finalizer.argocd.argoproj.io',
      'pre-delete-finalizer.argocd.argoproj.io',
      'pre-delete-finalizer.argocd.argoproj.io/cleanup',
      'post-delete-finalizer.argocd.argoproj.io',
      'post-delete-finalizer.argocd.argoproj.io/cleanup',
    ]);
    expect(at.world.dest.get('ConfigMap', 'before')).toBeUndefined();
    at.world.hub.delete('Application', 'demo');
    await at.clock.advance(60_000);
    expect(at.world.hub.get('Application', 'demo')).toBeUndefined();
    const order = at.world.dest.calls.filter((call) => /^(?:create|delete) ConfigMap (?:one|before|after)$/.test(call));
    expect(order.filter((call) => call !== 'delete ConfigMap before').slice(-3)).toEqual([
      'create ConfigMap before',
      'delete ConfigMap one',
      'create ConfigMap after',
    ]);
  });

  it('creates a delete hook with a generateName once, and ends', async () => {
    const hook = configMap('', '1', { 'argocd.argoproj.io/hook': 'PreDelete' });
    at.world.git.push('a'.repeat(40), [
      configMap('one'),
      { ...hook, metadata: { ...hook.metadata, generateName: 'bye-' } },
    ]);
    at.world.application(automated, {
      metadata: { name: 'demo', namespace: 'argocd', finalizers: ['resources-finalizer.argocd.argoproj.io'] },
    });
    await at.start();
    at.world.hub.delete('Application', 'demo');
    await at.clock.advance(60_000);
    expect(at.world.hub.get('Application', 'demo')).toBeUndefined();
    const made = at.world.dest.calls.filter(
      (call) => call.startsWith('create ConfigMap bye-') || call === 'create ConfigMap ',
    );
    expect(made).toEqual([expect.stringMatching(/^create ConfigMap bye-predelete-\d+$/)]);
  });
});
