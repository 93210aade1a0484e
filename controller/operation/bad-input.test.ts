import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '#base';
import { KubeApiError } from '#kube';
import { isCompleted } from '#model';
import type { KubeObject } from '#model';
import { automated, configMap } from '../testing/fake-world.ts';
import { cascade, hook, succeeded } from '../testing/manifests.ts';
import { tidyStage } from '../testing/stage.ts';

/** States, retries and finalizers that people write by hand. */
const at = tidyStage();
const sha = 'a'.repeat(40);

const message = (): string => at.world.app.status?.operationState?.message ?? '';

const source = { repoURL: 'https://git/x', path: 'p', targetRevision: 'main' };
const syncResult = { revision: sha, source };
const valid = {
  operation: { sync: { revision: sha } },
  phase: 'Running',
  startedAt: '1970-01-01T00:00:00Z',
  syncResult,
};
const numbers = { group: 1, kind: 2, name: 3, namespace: 4, version: 5, syncPhase: 6, hookType: 7, hookPhase: 8 };

/** The change of a valid state, and the field that the end names; '' if a step can read it. */
const states: readonly (readonly [string, object, string])[] = [
  ['an unknown phase', { phase: 'Paused' }, ''],
  ['no phase', { phase: undefined }, ''],
  ['no operation', { operation: undefined }, 'operation is not an object'],
  ['an operation that is text', { operation: 'sync' }, 'operation is not an object'],
  ['a null sync', { operation: { sync: null } }, 'operation.sync is not an object'],
  ['no start', { startedAt: undefined }, 'startedAt is not a time'],
  ['a start in the future', { startedAt: '2999-01-01T00:00:00Z' }, ''],
  ['an end that is no time', { finishedAt: 'soon', retryCount: 1 }, 'finishedAt is not a time'],
  ['an end that is null', { finishedAt: null, retryCount: 1 }, 'finishedAt is not a time'],
  ['an end in the future', { finishedAt: '2999-01-01T00:00:00Z', retryCount: 1 }, ''],
  ['a negative retryCount', { finishedAt: '1970-01-01T00:00:00Z', retryCount: -5 }, ''],
  ['a huge retryCount', { finishedAt: '1970-01-01T00:00:00Z', retryCount: 1e300 }, ''],
  ['a retryCount that is text', { finishedAt: '1970-01-01T00:00:00Z', retryCount: 'many' }, ''],
  ['a null result', { syncResult: null }, 'syncResult is not an object'],
  ['a result without a source', { syncResult: {} }, 'syncResult.source is not an object'],
  ['results that are text', { syncResult: { ...syncResult, resources: 'all' } }, 'syncResult.resources is not a list'],
  ['a null in its results', { syncResult: { ...syncResult, resources: [null] } }, 'syncResult.resources is not a list'],
  ['an empty result', { syncResult: { ...syncResult, resources: [{}] } }, ''],
  ['a result of numbers', { syncResult: { ...syncResult, resources: [numbers] } }, ''],
  ['sources that are text', { syncResult: { ...syncResult, sources: 'x' } }, 'syncResult.sources is not a list'],
  ['revisions that are text', { syncResult: { ...syncResult, revisions: 'x' } }, 'syncResult.revisions is not a list'],
  ['a message that is a list', { message: ['x'] }, ''],
];

describe('a running operation', () => {
  it.each(states)('whose state has %s ends, and a next one runs', async (_name, change, field) => {
    for (const phaseNow of ['Running', 'Terminating']) {
      if (phaseNow === 'Terminating') at.renew();
      at.world.git.push(sha, [configMap('one')]);
      at.world.application();
      const operationState = JSON.parse(JSON.stringify({ ...valid, phase: phaseNow, ...change })) as JsonObject;
      at.world.edit(() => ({ operation: { sync: { revision: sha } }, status: { operationState } }));
      await at.start();
      await at.pass(10);
      expect(isCompleted(at.world.app.status!.operationState!.phase)).toBe(true);
      if (field !== '')
        expect([at.phase(), message()]).toEqual([
          'Error',
          expect.stringContaining(`The state of the operation cannot be read: status.operationState.${field}`),
        ]);
      at.world.edit(() => ({ operation: { sync: { revision: sha } } }));
      await at.pass(5);
      expect([at.phase(), at.names()]).toEqual(['Succeeded', ['one']]);
      await at.world.close(at.clock);
    }
  });

  it.each<object>([{ operationState: null }, { conditions: 'none' }, { conditions: [null] }])(
    'of another Application goes on beside a status of %j',
    async (status) => {
      at.world.git.push(sha, [configMap('one')]);
      at.world.application(automated);
      at.world.hub.put({
        ...(at.world.app as unknown as KubeObject),
        metadata: { name: 'other', namespace: 'argocd' },
      });
      await at.start();
      at.world.edit(() => ({ status }));
      // Long enough for each periodic check of all Applications.
      await at.pass(60);
      const next = 'b'.repeat(40);
      at.world.git.push(next, [configMap('two')]);
      await at.pass(200);
      expect(at.world.applicationOf('other').status?.operationState).toMatchObject({
        phase: 'Succeeded',
        syncResult: { revision: next },
      });
    },
  );

  it.each<[JsonObject, string]>([
    [{ limit: 2, backoff: { duration: '0' } }, '(retried 2 times)'],
    [{ limit: 2, backoff: { duration: '-1h' } }, '(retried 2 times)'],
    [{ limit: 2, backoff: { duration: '1s', factor: -1 } }, '(retried 2 times)'],
    [{ limit: 2, backoff: { duration: '1s', maxDuration: '-1s' } }, '(retried 2 times)'],
    [{ limit: 2, backoff: { duration: '9999999h' } }, 'time: invalid duration "9999999h"'],
    [{ limit: 2, backoff: { duration: 'soon' } }, 'time: invalid duration "soon"'],
    [{ limit: 2, backoff: { duration: '1s', maxDuration: 'late' } }, 'time: invalid duration "late"'],
  ])('with the retry %j ends, and its attempts have pauses', async (retry, text) => {
    at.world.git.push(sha, [configMap('one')]);
    at.world.application({}, { operation: { sync: { revision: sha }, retry } });
    const times: number[] = [];
    const before = (call: string): void => {
      if (!call.startsWith('create ConfigMap')) return;
      times.push(at.clock.now());
      throw new KubeApiError({ code: 400, reason: '', message: 'no' }, 'x');
    };
    await at.start({ dest: { before } });
    await at.pass(600);
    expect([at.phase(), message()]).toEqual([
      expect.stringMatching(/^(?:Failed|Error)$/),
      expect.stringContaining(text),
    ]);
    for (const [i, time] of times.slice(1).entries()) expect(time - times[i]!).toBeGreaterThan(900);
  });
});

const held = ['example.com/held'];
const crd: KubeObject = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.example.com' },
  spec: { group: 'example.com', names: { kind: 'Widget' } },
  status: { conditions: [{ type: 'Established', status: 'True' }] },
};
const namespace: KubeObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'apps' } };
const job = (type: string): KubeObject => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: {
    name: 'hook',
    namespace: 'apps',
    annotations: { ...hook(type), 'argocd.argoproj.io/hook-delete-policy': 'HookSucceeded' },
  },
  spec: {},
  status: succeeded,
});
const pre = 'pre-delete-finalizer.argocd.argoproj.io';
const post = 'post-delete-finalizer.argocd.argoproj.io';

function free(): void {
  for (const object of [...at.world.dest.objects.values()])
    at.world.dest.put({ ...object, metadata: { ...object.metadata, finalizers: [] } });
}
const withFinalizer = (object: KubeObject): KubeObject => ({
  ...object,
  metadata: { ...object.metadata, finalizers: held },
});

describe('a deletion', () => {
  it.each<[string, KubeObject, readonly string[]]>([
    ['a ConfigMap', configMap('one'), []],
    ['a Namespace', namespace, []],
    ['a hook of the sync', job('PostSync'), []],
    ['a PreDelete hook', job('PreDelete'), [pre, `${pre}/cleanup`]],
    ['a PostDelete hook', job('PostDelete'), [post, `${post}/cleanup`]],
    ['a kept object', configMap('one', '1', { 'argocd.argoproj.io/sync-options': 'Delete=false' }), []],
    ['a CRD', crd, []],
  ])('with %s that another controller holds names it, and goes on', async (name, object, finalizers) => {
    at.world.git.push(sha, [withFinalizer(object), configMap('two')]);
    at.world.application({}, { operation: { sync: {} } });
    await at.start();
    at.setDeleting([cascade, ...finalizers]);
    await at.pass(420);
    // Objects to keep, CRDs, and hooks that have ended are not waited for.
    if (['a kept object', 'a CRD', 'a PostDelete hook'].includes(name)) {
      expect(at.isGone()).toBe(true);
      return;
    }
    expect(at.conditions()).toEqual([
      expect.stringMatching(/^DeletionError: waiting for the deletion of .*more than five minutes/),
    ]);
    free();
    await at.pass(30);
    expect([at.isGone(), at.names()]).toEqual([true, []]);
  });
});
