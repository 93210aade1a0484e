import { describe, expect, it } from '@jest/globals';
import { defined, omit } from '#base';
import type { JsonObject } from '#base';
import { KubeApiError } from '#kube';
import type { AppProjectSpec, KubeObject } from '#model';
import { configMap, server } from '../testing/fake-world.ts';
import { hook, wave } from '../testing/manifests.ts';
import { tidyStage } from '../testing/stage.ts';

/** `terminate`, as `argocd app terminate-op` sends it, at each step of an operation. */
const at = tidyStage();
const sha = 'a'.repeat(40);

const job = (annotations: Record<string, string>): KubeObject => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: 'hook', annotations },
  spec: {},
});
const message = (): string => at.world.app.status?.operationState?.message ?? '';

const never = job(hook('PreSync'));
const edit = (spec: object): void => at.world.edit((object) => ({ spec: { ...(object['spec'] as object), ...spec } }));
const denied: Partial<AppProjectSpec> = {
  syncWindows: [{ kind: 'deny', schedule: '* * * * *', duration: '1h', applications: ['*'] }],
};

interface Step {
  readonly name: string;
  readonly objects: readonly KubeObject[];
  /** Happens before the termination. */
  readonly meanwhile?: () => void;
  readonly retry?: JsonObject;
  readonly refuse?: string;
  readonly waveDelayMs?: number;
  /** Objects after the end. */
  readonly left: readonly string[];
  /** A hook may run on, and the message says so. */
  readonly says?: string;
}
const waved = [{ ...job(wave(0)), metadata: { name: 'job', annotations: wave(0) } }, configMap('two', '1', wave(1))];
const backoff = { limit: -1, backoff: { duration: '1h', maxDuration: '1h' } };
const steps: readonly Step[] = [
  { name: 'while a hook runs', objects: [never, configMap('one')], left: [] },
  {
    name: 'between waves',
    objects: [configMap('one'), configMap('two', '1', wave(1))],
    waveDelayMs: 60_000,
    left: ['one'],
  },
  { name: 'while an object is not healthy', objects: waved, left: ['job'] },
  {
    name: 'before a retry',
    objects: [configMap('one'), configMap('two')],
    refuse: 'create ConfigMap two',
    retry: backoff,
    left: ['one'],
  },
  { name: 'in a sync window', objects: [never], meanwhile: () => at.world.project('default', denied), left: [] },
  {
    name: 'while the source cannot be read',
    objects: [never],
    meanwhile: () => (at.world.git.failure = new Error('Git is away')),
    left: [],
  },
  {
    name: 'after the hook has left Git',
    objects: [never],
    meanwhile: () => at.world.git.push(sha, [configMap('one')]),
    left: [],
  },
  { name: 'after the source was removed', objects: [never], meanwhile: () => edit({ source: undefined }), left: [] },
  {
    name: 'after the namespace was changed',
    objects: [never],
    meanwhile: () => edit({ destination: { server, namespace: 'other' } }),
    left: [],
  },
  {
    name: 'without a service account for it',
    objects: [never],
    meanwhile: () => {
      at.world.settings = { ...at.world.settings, impersonation: { enabled: true, enforced: true } };
    },
    left: [],
  },
  {
    name: 'after the cluster was changed',
    objects: [never],
    meanwhile: () => edit({ destination: { server: 'https://nowhere', namespace: 'apps' } }),
    left: ['hook'],
    says: 'error getting cluster by server "https://nowhere"; its hook Job apps/hook may still run',
  },
  {
    name: 'without its project',
    objects: [never],
    meanwhile: () => at.world.hub.delete('AppProject', 'default'),
    left: ['hook'],
    says: 'project default which does not exist; its hook Job apps/hook may still run',
  },
  {
    name: 'after the project has forbidden the hook',
    objects: [never],
    meanwhile: () => at.world.project('default', { namespaceResourceBlacklist: [{ group: 'batch', kind: 'Job' }] }),
    left: ['hook'],
    says: 'Operation termination had errors',
  },
];

describe('a termination', () => {
  it.each(steps)('$name ends the operation and its hooks', async (step) => {
    const { objects, meanwhile, retry, refuse = 'never', waveDelayMs = 0, left, says } = step;
    at.world.git.push(sha, objects);
    at.world.application({}, { operation: { sync: { revision: sha }, ...defined({ retry }) } });
    const before = (call: string): void => {
      if (call.startsWith(refuse)) throw new KubeApiError({ code: 400, reason: '', message: 'no' }, 'x');
    };
    await at.start({ dest: { before }, config: { syncWaveDelayMs: waveDelayMs } });
    expect(at.phase()).toBe('Running');
    meanwhile?.();
    at.terminate();
    const created = at.world.dest.calls.filter((call) => call.startsWith('create')).length;
    await at.pass(120);
    expect([at.phase(), message()]).toEqual(
      says === undefined
        ? ['Failed', expect.stringMatching(/^Operation terminated/)]
        : ['Error', expect.stringContaining(says)],
    );
    expect(at.names()).toEqual(left);
    expect(at.world.dest.calls.filter((call) => call.startsWith('create'))).toHaveLength(created);
  });

  it('during a prune that does not end lets the next operation go on', async () => {
    at.world.git.push(sha, [configMap('one'), configMap('two')]);
    at.world.application({}, { operation: { sync: { revision: sha } } });
    await at.start();
    const two = at.world.dest.get('ConfigMap', 'two')!;
    at.world.dest.put({ ...two, metadata: { ...two.metadata, finalizers: ['example.com/held'] } });
    const next = 'b'.repeat(40);
    at.world.git.push(next, [configMap('one'), configMap('three', '1', wave(1))]);
    at.world.edit(() => ({ operation: { sync: { revision: next, prune: true } } }));
    await at.pass(10);
    expect([at.phase(), message()]).toEqual([
      'Running',
      expect.stringContaining('waiting for deletion of /ConfigMap/two'),
    ]);
    at.terminate();
    await at.pass(10);
    expect([at.phase(), message()]).toEqual(['Failed', 'Operation terminated']);
    at.world.edit(() => ({ operation: { sync: { revision: next } } }));
    await at.pass(10);
    expect(at.phase()).toBe('Succeeded');
  });

  it('during the last write ends the operation', async () => {
    at.world.git.push(sha, [configMap('one'), job(hook('PostSync'))]);
    at.world.application({}, { operation: { sync: { revision: sha } } });
    let isLast = false;
    const before = (call: string): void => {
      if (!isLast || !call.startsWith('patch Application')) return;
      isLast = false;
      at.terminate();
    };
    await at.start({ hub: { before } });
    expect(at.phase()).toBe('Running');
    isLast = true;
    const live = at.world.dest.get('Job', 'hook')!;
    at.world.dest.put({ ...live, status: { conditions: [{ type: 'Complete', status: 'True' }] } });
    await at.pass(30);
    expect([isLast, at.phase(), message()]).toEqual([false, 'Failed', 'Operation terminated']);
    expect(at.world.dest.get('Job', 'hook')?.metadata.finalizers ?? []).toEqual([]);
  });

  it('does not touch objects that a state written by hand calls its hooks', async () => {
    const foreign = (name: string, annotations: Record<string, string>): KubeObject => ({
      ...job({ ...annotations, 'argocd.argoproj.io/tracking-id': `other:batch/Job:apps/${name}` }),
      metadata: { name, namespace: 'apps', annotations },
    });
    at.world.dest.put(foreign('job', {}));
    at.world.dest.put(foreign('running', { ...hook('PreSync'), 'driftless.io/operation': '2026-01-01T00:00:00Z/1' }));
    at.world.git.push(sha, [configMap('one')]);
    at.world.application({}, { operation: { sync: { revision: sha } } });
    await at.start();
    const result = { group: 'batch', version: 'v1', kind: 'Job', namespace: 'apps', syncPhase: 'PreSync' };
    const resources = ['job', 'running', 'gone'].map((name) => ({
      ...result,
      name,
      hookType: 'PreSync',
      hookPhase: 'Running',
    }));
    at.world.edit((object) => {
      const status = object['status'] as { operationState: object };
      const syncResult = { revision: sha, source: { repoURL: 'https://git/x' }, resources };
      const operationState = {
        ...omit(status.operationState, 'finishedAt' as never),
        phase: 'Terminating',
        syncResult,
      };
      return { operation: { sync: { revision: sha } }, status: { ...status, operationState } };
    });
    await at.pass(30);
    expect([at.phase(), message()]).toEqual(['Failed', 'Operation terminated']);
    expect(at.names()).toEqual(['job', 'one', 'running']);
  });
});
