import { describe, expect, it } from '@jest/globals';
import type { KubeObject } from '#model';
import { crashAtEachCall } from './testing/crash.ts';
import type { CrashScenario } from './testing/crash.ts';
import { configMap } from './testing/fake-world.ts';
import type { FakeWorld } from './testing/fake-world.ts';

/**
 * T-OP-1: a process may die at any moment. Each run kills the replica at one of its API calls
 * (before the server acts, or after it acted and before the response), blocks its further calls,
 * and starts another replica. The result must be the same as without the crash, without duplicate
 * resources.
 */
const wave = (n: number): Record<string, string> => ({ 'argocd.argoproj.io/sync-wave': String(n) });
const sha = 'a'.repeat(40);
const hook = { 'argocd.argoproj.io/hook': 'PostSync' };
const preSync = { 'argocd.argoproj.io/hook': 'PreSync' };
const once = { ...hook, 'argocd.argoproj.io/hook-delete-policy': 'HookSucceeded' };

function pushWaves({ git }: FakeWorld): void {
  git.push(sha, [
    configMap('first', '1', wave(0)),
    configMap('second', '1', wave(1)),
    configMap('done', '1', hook),
    configMap('once', '1', once),
  ]);
}

const sync: CrashScenario = {
  name: 'a sync with waves and a hook, asked by a person',
  begin: (world) => {
    pushWaves(world);
    world.application({}, { operation: { sync: { revision: sha } } });
  },
  end: (world) => {
    expect(world.app.operation).toBeUndefined();
    expect(world.app.status?.operationState).toMatchObject({ phase: 'Succeeded' });
    expect(world.app.status?.history?.map((entry) => [entry.id, entry.revision])).toEqual([[0, sha]]);
    expect(world.app.status?.sync?.status).toBe('Synced');
    expect(['first', 'second'].map((name) => world.dest.get('ConfigMap', name)?.kind)).toEqual([
      'ConfigMap',
      'ConfigMap',
    ]);
    expect(world.dest.get('ConfigMap', 'done')?.metadata.finalizers ?? []).toEqual([]);
  },
};

const scenarios: readonly CrashScenario[] = [
  sync,
  { ...sync, name: 'a sync that pauses between its waves', syncWaveDelayMs: 2000 },
  {
    name: 'an automated sync',
    begin: (world) => {
      pushWaves(world);
      world.application({ syncPolicy: { automated: { prune: true, selfHeal: true } } });
    },
    end: (world) => {
      expect(world.app.operation).toBeUndefined();
      expect(world.app.status?.operationState).toMatchObject({ phase: 'Succeeded' });
      expect(world.app.status?.history?.map((entry) => [entry.id, entry.revision])).toEqual([[0, sha]]);
      expect(world.app.status?.sync?.status).toBe('Synced');
    },
  },
  {
    name: 'a self-heal, which is recorded after it has written',
    begin: (world) => {
      world.git.push(sha, [configMap('first'), configMap('second')]);
      world.application({ syncPolicy: { automated: { selfHeal: true } } });
      world.clock.timer(5000, () => {
        for (const name of ['first', 'second']) {
          const live = world.dest.get('ConfigMap', name);
          if (live !== undefined) world.dest.put({ ...live, data: { key: 'by hand' } });
        }
      });
    },
    end: (world) => {
      expect(world.app.operation).toBeUndefined();
      expect(world.app.status).toMatchObject({ sync: { status: 'Synced' }, operationState: { phase: 'Succeeded' } });
      expect(world.app.status?.history).toHaveLength(1);
      for (const name of ['first', 'second']) expect(world.dest.get('ConfigMap', name)?.['data']).toEqual({ key: '1' });
    },
  },
  {
    name: 'a cascade deletion',
    begin: (world) => {
      pushWaves(world);
      for (const name of ['first', 'second'])
        world.dest.put({
          ...configMap(name, '1', {
            ...wave(name === 'first' ? 0 : 1),
            'argocd.argoproj.io/tracking-id': `demo:/ConfigMap:apps/${name}`,
          }),
          metadata: {
            name,
            namespace: 'apps',
            annotations: {
              ...wave(name === 'first' ? 0 : 1),
              'argocd.argoproj.io/tracking-id': `demo:/ConfigMap:apps/${name}`,
            },
          },
        });
      world.application(
        {},
        {
          metadata: {
            name: 'demo',
            namespace: 'argocd',
            finalizers: ['resources-finalizer.argocd.argoproj.io'],
            deletionTimestamp: '2026-01-01T00:00:00Z',
          },
        },
      );
    },
    end: (world) => {
      expect(world.hub.get('Application', 'demo')).toBeUndefined();
      expect(world.dest.get('ConfigMap', 'first')).toBeUndefined();
      expect(world.dest.get('ConfigMap', 'second')).toBeUndefined();
    },
  },
  {
    name: 'a deletion during an operation whose hook never ends',
    begin: (world) => {
      const never = {
        apiVersion: 'batch/v1',
        kind: 'Job',
        metadata: { name: 'never', annotations: preSync },
        spec: {},
      };
      world.git.push(sha, [never, configMap('first')]);
      const source = { repoURL: 'https://git/x', path: 'p', targetRevision: 'main' };
      const startedAt = '1970-01-01T00:00:00Z';
      const operation = { sync: { revision: sha }, retry: { limit: -1 } };
      world.application({}, { operation });
      world.edit((object) => ({
        metadata: { ...object.metadata, finalizers: ['resources-finalizer.argocd.argoproj.io'] },
        status: { operationState: { operation, phase: 'Running', startedAt, syncResult: { revision: sha, source } } },
      }));
      world.hub.delete('Application', 'demo');
    },
    end: (world) => {
      expect(world.hub.get('Application', 'demo')).toBeUndefined();
      expect([...world.dest.objects.values()]).toEqual([]);
    },
  },
  {
    name: 'a termination whose hook is known by its result only',
    begin: (world) => {
      begunWithHook(world);
      world.edit((object) => {
        const status = object['status'] as { readonly operationState: object };
        return { status: { operationState: { ...status.operationState, phase: 'Terminating' } } };
      });
    },
    end: (world) => {
      const { phase, message } = world.app.status?.operationState ?? {};
      expect([phase, message]).toEqual(['Failed', 'Operation terminated']);
      expect(world.dest.get('Job', 'never')).toBeUndefined();
    },
  },
  {
    name: 'a deletion with hooks that have a time to live, in a namespace of the Application',
    begin: (world) => {
      const spec = { ttlSecondsAfterFinished: 0 };
      const apps = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'apps' } };
      const [before, after] = ['PreDelete', 'PostDelete'].map((type) => ({
        apiVersion: 'batch/v1',
        kind: 'Job',
        metadata: { name: type.toLowerCase(), namespace: 'apps', annotations: { 'argocd.argoproj.io/hook': type } },
        spec,
      }));
      const [pre, post] = ['pre-delete', 'post-delete'].map((type) => `${type}-finalizer.argocd.argoproj.io`);
      world.git.push(sha, [apps, configMap('first'), before!, after!]);
      world.dest.put({
        ...apps,
        metadata: { name: 'apps', annotations: { 'argocd.argoproj.io/tracking-id': 'demo:/Namespace:/apps' } },
      });
      // The controllers of Jobs and of their time to live.
      world.dest.onEvent(({ type, object }) => {
        if (type !== 'ADDED' || object.kind !== 'Job') return;
        world.dest.put({ ...object, status: { conditions: [{ type: 'Complete', status: 'True' }] } });
        world.dest.delete('Job', object.metadata.name ?? '');
      });
      const finalizers = ['resources-finalizer.argocd.argoproj.io', pre!, `${pre}/cleanup`, post!, `${post}/cleanup`];
      world.application(
        {},
        { metadata: { name: 'demo', namespace: 'argocd', finalizers, deletionTimestamp: '2026-01-01T00:00:00Z' } },
      );
    },
    end: (world) => {
      expect(world.hub.get('Application', 'demo')).toBeUndefined();
      expect([...world.dest.objects.values()].map(({ metadata }) => metadata.name)).toEqual([]);
      const order = world.dest.calls.filter((call) => /^(?:create Job|delete Namespace) /.test(call));
      expect(order).toEqual(['create Job predelete', 'create Job postdelete', 'delete Namespace apps']);
    },
  },
  {
    name: 'the repair of drift while Git is away',
    begin: (world) => {
      world.git.push(sha, [configMap('first')]);
      const source = { repoURL: 'https://git/x', path: 'p', targetRevision: 'main' };
      const synced = {
        operation: { sync: { revision: sha } },
        phase: 'Succeeded',
        startedAt: '1970-01-01T00:00:00Z',
        finishedAt: '1970-01-01T00:00:00Z',
        syncResult: { revision: sha, source },
      };
      world.application({ syncPolicy: { automated: { selfHeal: true } } });
      const comparedTo = { source, destination: { server: 'https://dest', namespace: 'apps' } };
      const sync = { status: 'Synced', revision: sha, comparedTo };
      const history = [{ id: 0, revision: sha, deployedAt: '1970-01-01T00:00:00Z', source }];
      world.edit(() => ({ status: { operationState: synced, sync, history } }));
      world.dest.put(drifted);
      // The rendering of the revision that it shows is on disk.
      world.git.render(sha);
      world.git.server = 'refuses';
    },
    end: (world) => {
      expect(world.dest.get('ConfigMap', 'first')?.['data']).toEqual({ key: '1' });
      expect(world.app.status?.operationState).toMatchObject({ phase: 'Succeeded', syncResult: { revision: sha } });
      expect(world.app.operation).toBeUndefined();
    },
  },
];

/** An operation that waits for a PreSync hook which never ends, and which has left Git. */
function begunWithHook(world: FakeWorld): void {
  const startedAt = '1970-01-01T00:00:00Z';
  const source = { repoURL: 'https://git/x', path: 'p', targetRevision: 'main' };
  const operation = { sync: { revision: sha } };
  const never = { group: 'batch', version: 'v1', kind: 'Job', namespace: 'apps', name: 'never', status: 'Synced' };
  const resources = [{ ...never, hookType: 'PreSync', hookPhase: 'Running', syncPhase: 'PreSync' }];
  world.git.push(sha, [configMap('first')]);
  world.dest.put({
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      name: 'never',
      namespace: 'apps',
      finalizers: ['argocd.argoproj.io/hook-finalizer'],
      annotations: {
        ...preSync,
        'driftless.io/operation': `${startedAt}/0`,
        'argocd.argoproj.io/tracking-id': 'demo:batch/Job:apps/never',
      },
    },
    spec: {},
  });
  world.application({}, { operation });
  world.edit(() => ({
    status: {
      operationState: { operation, phase: 'Running', startedAt, syncResult: { revision: sha, source, resources } },
    },
  }));
}

const drifted: KubeObject = {
  ...configMap('first', 'by hand'),
  metadata: {
    name: 'first',
    namespace: 'apps',
    annotations: { 'argocd.argoproj.io/tracking-id': 'demo:/ConfigMap:apps/first' },
  },
};

describe.each(scenarios)('$name', (scenario) => {
  // T-OP-1
  it.each(['before', 'after'] as const)(
    'completes correctly wherever the process dies %s the server acts',
    (moment) => crashAtEachCall(scenario, moment),
    600_000,
  );
});
