import { describe, expect, it } from '@jest/globals';
import type { KubeObject } from '#model';
import { crashAtEachCall } from './testing/crash.ts';
import type { CrashScenario } from './testing/crash.ts';
import { automated, configMap } from './testing/fake-world.ts';
import type { FakeWorld } from './testing/fake-world.ts';
import { cascade, failed, hook, job, succeeded } from './testing/manifests.ts';

/** Replicas die while they end an operation or a deletion early. */
const sha = 'a'.repeat(40);
const next = 'b'.repeat(40);
const source = { repoURL: 'https://git/x', path: 'p', targetRevision: 'main' };
const startedAt = '1970-01-01T00:00:00Z';
const [preDelete, postDelete] = ['pre-delete', 'post-delete'].map((type) => `${type}-finalizer.argocd.argoproj.io`);
const deletedAt = '2026-01-01T00:00:00Z';

const nameOf = ({ metadata }: KubeObject): string => metadata.name ?? '';
const names = ({ dest }: FakeWorld): readonly string[] => [...dest.objects.values()].map(nameOf).sort();
const created = ({ dest }: FakeWorld): readonly string[] => dest.calls.filter((call) => call.startsWith('create Job'));

/** A Job that this operation has created as its hook, and that it waits for. */
function runningHook(over: object = {}): KubeObject {
  return {
    ...job('never', {}),
    metadata: {
      name: 'never',
      namespace: 'apps',
      finalizers: ['argocd.argoproj.io/hook-finalizer'],
      annotations: {
        ...hook('PreSync'),
        'driftless.io/operation': `${startedAt}/0`,
        'argocd.argoproj.io/tracking-id': 'demo:batch/Job:apps/never',
      },
      ...over,
    },
  };
}

/** The state of an operation that waits for {@link runningHook}. */
function begun(over: object = {}): object {
  const operation = { sync: { revision: sha } };
  const result = { group: 'batch', version: 'v1', kind: 'Job', namespace: 'apps', name: 'never', status: 'Synced' };
  const resources = [{ ...result, hookType: 'PreSync', hookPhase: 'Running', syncPhase: 'PreSync' }];
  return { operation, phase: 'Running', startedAt, syncResult: { revision: sha, source, resources }, ...over };
}

const scenarios: readonly CrashScenario[] = [
  {
    name: 'an automated sync that does not begin, because its spec has changed meanwhile',
    begin: (world) => {
      world.git.push(sha, [configMap('first')]);
      world.git.commits.set(next, [configMap('second')]);
      world.application(automated);
      // A user pins another revision while the first comparison reads its source.
      let isPinned = false;
      world.git.meanwhile = () => {
        if (isPinned) return;
        isPinned = true;
        world.edit((object) => ({
          spec: { ...(object['spec'] as object), source: { ...source, targetRevision: next } },
        }));
      };
    },
    end: (world) => {
      const { status, operation } = world.app;
      expect([operation, status?.operationState?.phase, status?.sync?.status]).toEqual([
        undefined,
        'Succeeded',
        'Synced',
      ]);
      expect([status?.sync?.revision, names(world)]).toEqual([next, ['second']]);
      expect(status?.history?.map(({ revision }) => revision)).toEqual([next]);
    },
  },
  {
    name: 'the repair of a status whose members have the wrong types',
    begin: (world) => {
      world.git.push(sha, [configMap('first')]);
      world.application(automated);
      const operationState = { operation: 'x', phase: 'Succeeded', startedAt: 5, finishedAt: [] };
      const broken = { conditions: 'none', history: [null], resources: [5], sync: [], operationState };
      world.edit(() => ({ status: broken }));
    },
    end: (world) => {
      const { status, operation } = world.app;
      expect([operation, status?.sync?.status, status?.conditions ?? []]).toEqual([undefined, 'Synced', []]);
      expect([names(world), Array.isArray(status?.history), Array.isArray(status?.resources)]).toEqual([
        ['first'],
        true,
        true,
      ]);
    },
  },
  {
    name: 'an operation whose stored state cannot be read',
    begin: (world) => {
      world.git.push(sha, [configMap('first')]);
      world.application({}, { operation: { sync: { revision: sha } } });
      world.edit(() => ({ status: { operationState: begun({ syncResult: { resources: 'all' } }) } }));
    },
    end: (world) => {
      const { phase, message } = world.app.status?.operationState ?? {};
      expect([world.app.operation, phase]).toEqual([undefined, 'Error']);
      expect(message).toContain('The state of the operation cannot be read');
    },
  },
  {
    name: 'an operation whose hook was deleted while it ran',
    begin: (world) => {
      world.git.push(sha, [configMap('first'), job('never', hook('PreSync'))]);
      world.dest.put(runningHook({ deletionTimestamp: deletedAt }));
      world.application({}, { operation: { sync: { revision: sha } } });
      world.edit(() => ({ status: { operationState: begun() } }));
    },
    end: (world) => {
      const state = world.app.status?.operationState;
      expect([world.app.operation, state?.phase, names(world)]).toEqual([undefined, 'Failed', []]);
      expect(state?.syncResult?.resources?.[0]?.message).toContain('the Job was deleted before it ended');
      expect(created(world)).toEqual([]);
    },
  },
  {
    name: 'a deletion whose PreDelete hook fails at first, and whose PostDelete hook follows',
    firstMs: 120_000,
    begin: (world) => {
      const hooks = [job('before', hook('PreDelete')), job('after', hook('PostDelete'))];
      world.git.push(sha, [configMap('first'), ...hooks]);
      world.dest.put({
        ...configMap('first'),
        metadata: {
          name: 'first',
          namespace: 'apps',
          annotations: { 'argocd.argoproj.io/tracking-id': 'demo:/ConfigMap:apps/first' },
        },
      });
      let runs = 0;
      world.dest.onEvent(({ type, object }) => {
        if (type !== 'ADDED' || object.kind !== 'Job') return;
        runs += 1;
        world.dest.put({ ...object, status: runs === 1 ? failed : succeeded });
      });
      const finalizers = [cascade, preDelete!, `${preDelete}/cleanup`, postDelete!, `${postDelete}/cleanup`];
      world.application(
        {},
        { metadata: { name: 'demo', namespace: 'argocd', finalizers, deletionTimestamp: deletedAt } },
      );
    },
    end: (world) => {
      expect(world.hub.get('Application', 'demo')).toBeUndefined();
      expect(world.dest.get('ConfigMap', 'first')).toBeUndefined();
      const order = world.dest.calls.filter((call) => /^(?:create Job|delete ConfigMap) /.test(call));
      expect(order).toEqual(['create Job before', 'create Job before', 'delete ConfigMap first', 'create Job after']);
    },
  },
];

describe.each(scenarios)('$name', (scenario) => {
  // T-OP-1
  it.each(['before', 'after'] as const)(
    'completes correctly wherever the process dies %s the server acts',
    (moment) => crashAtEachCall(scenario, moment),
    600_000,
  );
});
