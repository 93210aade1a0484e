import { describe, expect, it } from '@jest/globals';
import { KubeApiError } from '#kube';
import type { KubeObject } from '#model';
import { automated, configMap } from '../testing/fake-world.ts';
import { cascade, failed, hook, job, succeeded, wave } from '../testing/manifests.ts';
import { tidyStage } from '../testing/stage.ts';

/** Public reports about operations and deletions that hang, or that end with an untruth. */
const at = tidyStage();
const sha = 'a'.repeat(40);
const next = 'b'.repeat(40);
const preDelete = 'pre-delete-finalizer.argocd.argoproj.io';

const namespace: KubeObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'apps' } };
const message = (): string => at.world.app.status?.operationState?.message ?? '';
const sync = { operation: { sync: { revision: sha } } };
const fail = (code: number, text: string): never => {
  throw new KubeApiError({ code, reason: code === 409 ? 'AlreadyExists' : '', message: text }, 'x');
};
const held = (name: string): void => {
  const live = at.world.dest.get('ConfigMap', name)!;
  at.world.dest.put({ ...live, metadata: { ...live.metadata, finalizers: ['example.com/held'] } });
};

describe('hooks', () => {
  it('a PreDelete hook that the cache does not show yet is waited for (argo-cd 29100)', async () => {
    at.world.git.push(sha, [configMap('one'), job('hook', hook('PreDelete'))]);
    at.world.application({}, sync);
    let isHidden = true;
    const before = (call: string): void => {
      if (isHidden && call.startsWith('create Job')) fail(409, 'jobs "hook" already exists');
    };
    await at.start({ dest: { before } });
    at.setDeleting([cascade, preDelete]);
    await at.pass(20);
    expect(at.names()).toEqual(['one']);
    isHidden = false;
    await at.pass(20);
    expect([at.isGone(), at.names()]).toEqual([false, ['hook', 'one']]);
    at.world.dest.put({ ...at.world.dest.get('Job', 'hook')!, status: succeeded });
    await at.pass(20);
    expect([at.isGone(), at.names()]).toEqual([true, []]);
  });

  it.each([0, 1])('a Job with a time to live of %d s ends its phase (argo-cd 21055, 18884)', async (seconds) => {
    const spec = { ttlSecondsAfterFinished: seconds };
    at.world.git.push(sha, [{ ...job('hook', hook('PreSync'), succeeded), spec }, configMap('one')]);
    at.world.application({}, sync);
    at.world.dest.onEvent(({ type, object }) => {
      if (type === 'ADDED' && object.kind === 'Job') at.world.dest.delete('Job', 'hook');
    });
    await at.start();
    await at.pass(10);
    expect([at.phase(), at.names()]).toEqual(['Succeeded', ['one']]);
  });

  it('no hook keeps its finalizer when a sync fails beside it (argo-cd 23226)', async () => {
    at.world.git.push(sha, [job('fails', hook('PreSync'), failed), job('other', hook('PreSync'))]);
    at.world.application({}, sync);
    await at.start();
    at.world.dest.put({ ...at.world.dest.get('Job', 'other')!, status: succeeded });
    await at.pass(10);
    expect(at.phase()).toBe('Failed');
    for (const name of ['fails', 'other'])
      expect(at.world.dest.get('Job', name)?.metadata.finalizers ?? []).toEqual([]);
  });

  it('a finalizer that cannot be removed fails the operation and is named (argo-cd 24187)', async () => {
    at.world.git.push(sha, [job('hook', hook('PreSync'), succeeded), configMap('one')]);
    at.world.application({}, sync);
    const before = (call: string): void => {
      if (call.startsWith('patch Job')) fail(422, 'spec.template: field is immutable');
    };
    await at.start({ dest: { before } });
    await at.pass(60);
    expect(at.phase()).toBe('Failed');
    expect(at.world.app.status?.operationState?.syncResult?.resources?.[0]?.message).toContain('field is immutable');
  });

  it.each(['gone at once', 'never there'])('an earlier hook that is %s is not waited for (helm 32214)', async (how) => {
    const hooked = configMap('hook', '1', hook('PreSync'));
    if (how === 'gone at once') {
      at.world.git.push(sha, [hooked]);
      at.world.application({}, sync);
      await at.start();
    } else {
      at.world.application();
      await at.start();
    }
    at.world.git.push(next, [hooked, configMap('one')]);
    at.world.edit(() => ({ operation: { sync: { revision: next } } }));
    await at.pass(3);
    expect([at.phase(), at.names()]).toEqual(['Succeeded', ['hook', 'one']]);
  });
});

describe('operations', () => {
  it('a termination and a deletion go on when a sync window closes (argo-cd 25361, 20799)', async () => {
    at.world.git.push(sha, [job('slow', wave(0)), configMap('one', '1', wave(1))]);
    at.world.application(automated);
    await at.start();
    const window = { kind: 'deny', schedule: '* * * * *', duration: '1h', applications: ['*'] } as const;
    at.world.project('default', { syncWindows: [window] });
    await at.pass(40);
    expect([at.phase(), message()]).toEqual(['Running', expect.stringContaining('blocked by sync window')]);
    at.terminate();
    await at.pass(5);
    expect(at.phase()).toBe('Failed');
    at.setDeleting([cascade]);
    await at.pass(20);
    expect(at.isGone()).toBe(true);
  });

  it('an operation without any state begins, and can be terminated (argo-cd 17155)', async () => {
    at.world.git.push(sha, [job('hook', hook('PreSync'))]);
    at.world.application();
    await at.start();
    at.world.edit((object) => ({ ...object, status: {}, operation: sync.operation }));
    await at.pass(5);
    expect(at.phase()).toBe('Running');
    at.terminate();
    await at.pass(5);
    expect([at.phase(), at.names(), at.world.app.operation]).toEqual(['Failed', [], undefined]);
  });

  it.each([0, 5, -1])(
    'self-heal with %d retries restores a Namespace deleted with its objects (argo-cd 12904)',
    async (limit) => {
      at.world.git.push(sha, [namespace, configMap('one')]);
      at.world.application({ syncPolicy: { ...automated.syncPolicy, retry: { limit } } });
      let isTerminating = false;
      const before = (call: string): void => {
        if (call.startsWith('create ConfigMap') && at.world.dest.get('Namespace', 'apps') === undefined)
          fail(404, 'namespaces "apps" not found');
        if (isTerminating && call.startsWith('create ConfigMap')) fail(403, 'because it is being terminated');
      };
      await at.start({ dest: { before } });
      isTerminating = true;
      at.world.dest.delete('ConfigMap', 'one');
      await at.pass(3);
      at.world.dest.delete('Namespace', 'apps');
      isTerminating = false;
      await at.pass(300);
      expect([at.names(), at.world.app.status?.sync?.status]).toEqual([['apps', 'one'], 'Synced']);
    },
  );

  it('an automated sync that may retry succeeds when rights arrive later (argo-cd 18442)', async () => {
    at.world.git.push(sha, [configMap('one')]);
    at.world.application({ syncPolicy: { ...automated.syncPolicy, retry: { limit: -1 } } });
    let isForbidden = true;
    const before = (call: string): void => {
      if (isForbidden && call.startsWith('create ConfigMap')) fail(403, 'forbidden');
    };
    await at.start({ dest: { before } });
    await at.pass(600);
    expect([at.phase(), at.conditions()]).toEqual(['Running', [expect.stringContaining('WaitingWarning')]]);
    isForbidden = false;
    await at.pass(200);
    expect([at.phase(), at.conditions(), at.names()]).toEqual(['Succeeded', [], ['one']]);
  });

  it('a prune that does not end keeps nothing else from being applied (flux 2691, kustomize-controller 98)', async () => {
    at.world.git.push(sha, [configMap('one'), configMap('old')]);
    at.world.application(automated);
    await at.start();
    held('old');
    at.world.git.push(next, [configMap('one', '2'), configMap('new')]);
    at.world.annotate({ 'argocd.argoproj.io/refresh': 'normal' });
    await at.pass(30);
    expect(at.names()).toEqual(['new', 'old', 'one']);
    const last = 'c'.repeat(40);
    at.world.git.push(last, [configMap('one', '3'), configMap('newer')]);
    at.world.annotate({ 'argocd.argoproj.io/refresh': 'normal' });
    await at.pass(60);
    expect([at.names(), at.world.dest.get('ConfigMap', 'one')?.['data']]).toEqual([
      ['newer', 'old', 'one'],
      { key: '3' },
    ]);
    expect(at.conditions()).toEqual([expect.stringMatching(/^KeptResourceWarning: .*old/)]);
  });
});
