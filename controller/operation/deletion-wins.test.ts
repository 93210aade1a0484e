import { beforeEach, describe, expect, it } from '@jest/globals';
import { omit } from '#base';
import { KubeApiError } from '#kube';
import type { KubeObject } from '#model';
import { configMap } from '../testing/fake-world.ts';
import { cascade, hook, job, wave } from '../testing/manifests.ts';
import { tidyStage } from '../testing/stage.ts';

const at = tidyStage();
const sha = 'a'.repeat(40);
const retries = { sync: { revision: sha }, retry: { limit: -1, backoff: { duration: '1h', maxDuration: '1h' } } };
/** The writes to the cluster that create or change something. */
const applies = (): readonly string[] => at.world.dest.calls.filter((call) => /^(?:create|patch|replace) /.test(call));

describe('a deletion', () => {
  beforeEach(() => at.world.git.push(sha, [job('before', hook('PreSync')), configMap('one')]));

  it('terminates an operation whose hook never ends, with the hook, and deletes the resources', async () => {
    at.world.application({}, { operation: retries });
    await at.start();
    expect(at.world.app.status?.operationState?.phase).toBe('Running');
    expect(at.names()).toEqual(['before']);
    at.setDeleting([cascade]);
    await at.pass(30);
    expect(at.isGone()).toBe(true);
    expect(at.names()).toEqual([]);
    const ended = at.world.statuses().filter(({ operationState }) => operationState?.finishedAt !== undefined);
    expect(ended[0]?.operationState).toMatchObject({ phase: 'Failed', message: 'Operation terminated' });
  });

  it('terminates an operation that waits for an object to become healthy', async () => {
    at.world.git.push(sha, [job('first', wave(0)), configMap('second', '1', wave(1))]);
    at.world.application({}, { operation: retries });
    await at.start();
    expect(at.names()).toEqual(['first']);
    at.setDeleting([cascade]);
    await at.pass(30);
    expect([at.isGone(), at.names()]).toEqual([true, []]);
  });

  it('ends the retries of an operation: nothing is applied any more', async () => {
    at.world.git.push(sha, [configMap('one'), configMap('two')]);
    at.world.application({}, { operation: { ...retries, retry: { limit: -1, backoff: { duration: '1s' } } } });
    const refused = (call: string): void => {
      if (call.startsWith('create ConfigMap two')) throw new KubeApiError({ code: 400, reason: '', message: 'no' }, '');
    };
    await at.start({ dest: { before: refused } });
    await at.pass(5);
    expect(at.world.app.status?.operationState?.retryCount).toBeGreaterThan(0);
    at.setDeleting([cascade]);
    const before = applies().length;
    await at.pass(30);
    expect([at.isGone(), at.names(), applies().slice(before)]).toEqual([true, [], []]);
  });

  it('ends the wait for a retry', async () => {
    at.world.git.push(sha, [configMap('one', '1', { 'argocd.argoproj.io/sync-options': 'Force=x' })]);
    at.world.application({}, { operation: retries });
    const refuse = (call: string): void => {
      if (call.startsWith('create')) throw new KubeApiError({ code: 400, reason: '', message: 'no' }, '');
    };
    await at.start({ dest: { before: refuse } });
    expect(at.world.app.status?.operationState).toMatchObject({ phase: 'Running', retryCount: 1 });
    at.setDeleting([cascade]);
    await at.pass(30);
    expect(at.isGone()).toBe(true);
  });

  it('does not begin an operation that was requested before', async () => {
    at.world.application({}, { metadata: { name: 'demo', namespace: 'argocd', finalizers: [cascade] } });
    at.world.edit(() => ({ operation: retries }));
    at.world.hub.delete('Application', 'demo');
    await at.start();
    await at.pass(10);
    expect([at.isGone(), at.names(), applies()]).toEqual([true, [], []]);
  });

  it('goes on while Git is away, and while a sync window denies syncs', async () => {
    at.world.application({}, { operation: retries });
    await at.start();
    at.world.project('default', {
      syncWindows: [{ kind: 'deny', schedule: '* * * * *', duration: '1h', applications: ['*'] }],
    });
    at.world.git.failure = new Error('Git is away');
    at.setDeleting([cascade]);
    await at.pass(120);
    expect(at.isGone()).toBe(true);
  });

  it('shows rarely that the termination fails while a webhook drops the condition', async () => {
    at.world.application({}, { operation: retries });
    await at.start();
    at.world.hub.invalid = (object) => {
      if (!JSON.stringify(object['status'] ?? {}).includes('"phase":"Terminating"')) return undefined;
      throw new KubeApiError({ code: 403, reason: '', message: 'the webhook says no' }, 'patch');
    };
    let written = 0;
    at.world.hub.admit = (object) => {
      if (object.kind !== 'Application') return object;
      const status = object['status'] as { readonly conditions?: readonly { readonly type: string }[] };
      if (status.conditions?.some(({ type }) => type === 'DeletionError') === true) written += 1;
      const annotations = { ...object.metadata.annotations, 'example.com/stamp': String(at.clock.now()) };
      return { ...object, metadata: { ...object.metadata, annotations }, status: { ...status, conditions: [] } };
    };
    at.setDeleting([cascade]);
    await at.pass(1200);
    expect(written).toBeGreaterThan(5);
    expect(written).toBeLessThan(30);
  });

  it.each([403, 503])('shows a DeletionError after a minute if writing the termination fails with %i', async (code) => {
    at.world.application({}, { operation: retries });
    await at.start();
    at.world.hub.invalid = (object) => {
      if (!JSON.stringify(object['status'] ?? {}).includes('"phase":"Terminating"')) return undefined;
      throw new KubeApiError({ code, reason: '', message: 'the webhook says no' }, 'patch');
    };
    at.setDeleting([cascade]);
    await at.pass(50);
    expect(at.world.app.status?.conditions ?? []).toEqual([]);
    await at.pass(50);
    expect(at.world.app.status?.conditions).toEqual([
      expect.objectContaining({
        type: 'DeletionError',
        message: expect.stringMatching(
          /^the operation that runs cannot be terminated for more than a minute: the webhook says no\./,
        ),
      }),
    ]);
    at.world.hub.invalid = () => undefined;
    await at.pass(300);
    expect(at.isGone()).toBe(true);
  });

  it('goes on if the server finds the termination invalid', async () => {
    at.world.application({}, { operation: retries });
    await at.start();
    at.world.hub.invalid = (object) =>
      JSON.stringify(object['status'] ?? {}).includes('"phase":"Terminating"') ? 'status.phase: no' : undefined;
    at.setDeleting([cascade]);
    await at.pass(30);
    expect(at.isGone()).toBe(true);
  });

  it('ends an operation that was removed by hand while it ran', async () => {
    at.world.application({}, { operation: retries });
    await at.start();
    at.world.hub.put(omit(at.world.app, 'operation') as unknown as KubeObject);
    await at.pass(30);
    expect(at.world.app.status?.operationState).toMatchObject({ phase: 'Failed', message: 'Operation terminated' });
    expect(at.names()).toEqual([]);
  });
});
