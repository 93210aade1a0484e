import { beforeEach, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '#base';
import { KubeApiError } from '#kube';
import type { KubeObject } from '#model';
import { configMap } from '../testing/fake-world.ts';
import { cascade, hook } from '../testing/manifests.ts';
import { tidyStage } from '../testing/stage.ts';

/** Hooks that delete what they, their operation or their deletion stand on. */
const at = tidyStage();
const sha = 'a'.repeat(40);
const preDelete = 'pre-delete-finalizer.argocd.argoproj.io';
const postDelete = 'post-delete-finalizer.argocd.argoproj.io';
const limitSeconds = 600;

const namespace: KubeObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'apps' } };
const job = (type: string): KubeObject => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: 'hook', namespace: 'apps', annotations: hook(type) },
  spec: {},
});

type Target = 'itself' | 'its namespace' | 'its kind' | 'the Application';
type End = 'succeeds' | 'fails' | 'never ends';

let isTerminating = false;
let hasNamespace = true;

/** The namespace controller: objects with finalizers stay, and keep the namespace. */
function deleteNamespace(): void {
  isTerminating = true;
  const live = at.world.dest.get('Namespace', 'apps');
  if (live !== undefined && live.metadata.deletionTimestamp === undefined)
    at.world.dest.put({
      ...live,
      metadata: { ...live.metadata, deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['kubernetes'] },
    });
  for (const { kind, metadata } of [...at.world.dest.objects.values()])
    if (metadata.namespace === 'apps' && metadata.deletionTimestamp === undefined)
      at.world.dest.delete(kind, metadata.name ?? '');
  endNamespace();
}

function endNamespace(): void {
  const rest = [...at.world.dest.objects.values()].some(({ metadata }) => metadata.namespace === 'apps');
  const live = at.world.dest.get('Namespace', 'apps');
  if (!isTerminating || rest) return;
  isTerminating = false;
  hasNamespace = false;
  if (live !== undefined) at.world.dest.put({ ...live, metadata: { ...live.metadata, finalizers: [] } });
}

const acts: Readonly<Record<Target, () => void>> = {
  itself: () => at.world.dest.delete('Job', 'hook'),
  'its namespace': deleteNamespace,
  'its kind': () => {
    at.world.dest.delete('Job', 'hook');
    at.world.dest.unnamedGroups.add('batch');
  },
  'the Application': () => at.world.hub.delete('Application', 'demo'),
};

function finish(status: JsonObject): void {
  const live = at.world.dest.get('Job', 'hook');
  if (live !== undefined && live['status'] === undefined) at.world.dest.put({ ...live, status });
}

/** Each new Job deletes the target, and then ends as `status` says; undefined: never. */
function actOnCreation(target: Target, status: JsonObject | undefined): () => number {
  let runs = 0;
  at.world.dest.onEvent(({ type, object }) => {
    if (type === 'DELETED') endNamespace();
    if (type !== 'ADDED' || object.kind !== 'Job') return;
    runs += 1;
    void at.clock.sleep(1000, new AbortController().signal).then(() => {
      acts[target]();
      if (status !== undefined) finish(status);
    });
  });
  return () => runs;
}

/** As a real server: nothing is created in a namespace that is gone, or is being deleted. */
function refuse(text: string): { readonly before: (call: string) => void } {
  return {
    before: (call) => {
      if (call.startsWith(text)) throw new KubeApiError({ code: 400, reason: '', message: 'no' }, 'x');
      if (!/^create (?:Job|ConfigMap) /.test(call)) return;
      if (isTerminating) throw new KubeApiError({ code: 403, reason: '', message: 'is being terminated' }, 'x');
      if (!hasNamespace)
        throw new KubeApiError({ code: 404, reason: 'NotFound', message: 'namespaces "apps" not found' }, 'x');
    },
  };
}

const phase = (): string | undefined => at.world.app.status?.operationState?.phase;
const waits = [expect.stringMatching(/^(?:WaitingWarning|DeletionError): /)];

const statuses: Readonly<Record<End, JsonObject | undefined>> = {
  succeeds: { conditions: [{ type: 'Complete', status: 'True' }] },
  fails: { conditions: [{ type: 'Failed', status: 'True', message: 'no' }] },
  'never ends': undefined,
};
const cases = (types: readonly string[]): (readonly [string, Target, End])[] =>
  types.flatMap((type) =>
    (Object.keys(acts) as Target[]).flatMap((target) =>
      (Object.keys(statuses) as End[]).map((end) => [type, target, end] as const),
    ),
  );

describe('a hook that deletes', () => {
  beforeEach(() => {
    isTerminating = false;
    hasNamespace = true;
  });

  it.each(cases(['PreSync', 'Sync', 'PostSync', 'SyncFail']))(
    'as %s %s and %s ends its operation',
    async (...given) => {
      const [type, target, end] = given;
      at.world.git.push(sha, [namespace, configMap('one'), job(type)]);
      at.world.application({}, { operation: { sync: {} } });
      at.world.edit((object) => ({ metadata: { ...object.metadata, finalizers: [cascade] } }));
      const runs = actOnCreation(target, statuses[end]);
      await at.start({ dest: refuse(type === 'SyncFail' ? 'create ConfigMap one' : 'never') });
      await at.pass(limitSeconds);
      expect(runs()).toBe(1);
      if (target === 'the Application') {
        expect(at.isGone()).toBe(true);
        return;
      }
      // After PreSync, nothing can be applied to a namespace that is gone.
      const fails = type === 'SyncFail' || target === 'its kind' || (type === 'PreSync' && target === 'its namespace');
      expect([phase(), at.conditions()]).toEqual([end === 'succeeds' && !fails ? 'Succeeded' : 'Failed', []]);
      // The server hides objects of a kind that it does not serve.
      if (target !== 'its kind') expect(at.names()).not.toContain('hook');
    },
  );

  it.each(cases(['PreDelete', 'PostDelete']))(
    'as %s %s and %s runs a few times at most, and the deletion ends or says why not',
    async (type, target, end) => {
      at.world.git.push(sha, [namespace, configMap('one'), job(type)]);
      at.world.application({}, { operation: { sync: {} } });
      await at.start({ dest: refuse('never') });
      const runs = actOnCreation(target, statuses[end]);
      at.setDeleting([cascade, type === 'PreDelete' ? preDelete : postDelete]);
      await at.pass(limitSeconds);
      const isOver = target === 'its namespace' || (end === 'succeeds' && target !== 'its kind');
      expect(at.isGone()).toBe(isOver);
      if (!at.isGone()) expect(at.conditions()).toEqual(waits);
      // A failed one runs again after a minute.
      expect(runs()).toBeLessThanOrEqual(end === 'succeeds' ? 2 : limitSeconds / 60 + 1);
    },
  );

  it('that is deleted by its time to live runs once as a delete hook', async () => {
    const spec = { ttlSecondsAfterFinished: 0 };
    at.world.git.push(sha, [
      namespace,
      configMap('one'),
      { ...job('PreDelete'), spec },
      { ...job('PostDelete'), metadata: { ...job('PostDelete').metadata, name: 'after' }, spec },
    ]);
    at.world.application({}, { operation: { sync: {} } });
    await at.start({ dest: refuse('never') });
    let runs = 0;
    at.world.dest.onEvent(({ type, object }) => {
      if (type !== 'ADDED' || object.kind !== 'Job') return;
      runs += 1;
      void at.clock.sleep(1000, new AbortController().signal).then(() => {
        at.world.dest.put({ ...object, status: statuses.succeeds! });
        at.world.dest.delete('Job', object.metadata.name ?? '');
      });
    });
    at.setDeleting([cascade, preDelete, `${preDelete}/cleanup`, postDelete, `${postDelete}/cleanup`]);
    await at.pass(60);
    expect([at.isGone(), runs, at.names()]).toEqual([true, 2, []]);
  });
});
