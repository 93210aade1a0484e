import { describe, expect, it } from '@jest/globals';
import type { KubeObject } from '#model';
import { automated, configMap } from '../testing/fake-world.ts';
import { tidyStage } from '../testing/stage.ts';

const [first, second] = ['a'.repeat(40), 'b'.repeat(40)];
const nameless: KubeObject = { apiVersion: 'v1', kind: 'ConfigMap', metadata: {}, data: { key: '1' } };

const at = tidyStage();

/** Calls that change the cluster. */
const changes = (): readonly string[] =>
  at.world.dest.calls.filter((call) => /^(?:create|replace|patch|apply|delete) /.test(call));
const healing = { syncPolicy: { automated: { prune: true, selfHeal: true }, retry: { limit: 0 } } };

describe('a manifest without a name', () => {
  it('is compared as missing, and a sync fails before it applies or prunes anything', async () => {
    at.world.git.push(first, [configMap('one'), configMap('gone')]);
    at.world.application(automated);
    await at.start();
    expect(at.names()).toEqual(['gone', 'one']);
    const before = changes().length;
    at.world.git.push(second, [configMap('one', '2'), nameless, { ...nameless, data: { key: '2' } }]);
    at.world.edit((object) => ({ spec: { ...(object['spec'] as object), ...healing } }));
    await at.pass(600);
    const { status } = at.world.app;
    expect(status?.sync).toMatchObject({ status: 'OutOfSync', revision: second });
    expect((status?.conditions ?? []).map(({ type }) => type)).toEqual(['SyncError']);
    expect(status?.resources?.map(({ name, status: code }) => [name, code])).toEqual([
      ['', 'OutOfSync'],
      ['', 'OutOfSync'],
      ['gone', 'OutOfSync'],
      ['one', 'OutOfSync'],
    ]);
    expect(status?.operationState).toMatchObject({
      phase: 'Failed',
      message: 'one or more objects failed to apply (dry run)',
      syncResult: {
        resources: [{ kind: 'ConfigMap', name: '', status: 'SyncFailed', message: 'resource name may not be empty' }],
      },
    });
    expect(changes().slice(before)).toEqual([]);
    expect(at.names()).toEqual(['gone', 'one']);
  });

  it('fails one automated sync, which self-heal does not repeat', async () => {
    at.world.git.push(first, [configMap('one'), nameless]);
    at.world.application(healing);
    await at.start();
    await at.pass(30);
    const startedAt = at.world.app.status?.operationState?.startedAt;
    expect(at.world.app.status?.operationState?.phase).toBe('Failed');
    const writes = at.world.writes().length;
    await at.pass(900);
    expect(at.world.app.status?.operationState?.startedAt).toBe(startedAt);
    expect(at.world.writes().length - writes).toBeLessThan(3);
    expect(changes()).toEqual([]);
  });

  it('does not keep an Application from being deleted with its objects', async () => {
    at.world.git.push(first, [configMap('one')]);
    at.world.application(automated, {
      metadata: { name: 'demo', namespace: 'argocd', finalizers: ['resources-finalizer.argocd.argoproj.io'] },
    });
    await at.start();
    at.world.git.push(second, [configMap('one'), nameless]);
    await at.pass(300);
    expect(at.world.app.status?.sync?.revision).toBe(second);
    at.world.hub.delete('Application', 'demo');
    await at.pass(60);
    expect(at.world.hub.get('Application', 'demo')).toBeUndefined();
    expect(at.names()).toEqual([]);
  });

  it('is created once for each delete hook, under its own name, and the deletion ends', async () => {
    const annotations = { 'argocd.argoproj.io/hook': 'PreDelete' };
    const hook = { ...nameless, metadata: { annotations } };
    at.world.git.push(first, [
      configMap('one'),
      hook,
      hook,
      { ...hook, metadata: { annotations, generateName: 'bye-' } },
    ]);
    at.world.application(automated, {
      metadata: { name: 'demo', namespace: 'argocd', finalizers: ['resources-finalizer.argocd.argoproj.io'] },
    });
    await at.start();
    at.world.hub.delete('Application', 'demo');
    await at.clock.advance(60_000);
    expect(at.world.hub.get('Application', 'demo')).toBeUndefined();
    const created = changes().filter((call) => call.includes('predelete'));
    expect(created.filter((call) => call.startsWith('create'))).toEqual([
      expect.stringMatching(/^create ConfigMap predelete-\d+$/),
      expect.stringMatching(/^create ConfigMap predelete-\d+-2$/),
      expect.stringMatching(/^create ConfigMap bye-predelete-\d+$/),
    ]);
  });

  it('runs as a hook under the name that Argo CD gives it', async () => {
    const annotations = { 'argocd.argoproj.io/hook': 'PreSync' };
    at.world.git.push(first, [configMap('one'), { ...nameless, metadata: { annotations } }]);
    at.world.application(automated);
    await at.start();
    await at.pass(30);
    expect(at.world.app.status).toMatchObject({
      sync: { status: 'Synced' },
      operationState: { phase: 'Succeeded' },
    });
    expect(at.names()).toEqual([expect.stringMatching(/^a{7}-presync-\d+$/), 'one']);
  });
});
