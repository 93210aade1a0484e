import { beforeEach, describe, expect, it } from '@jest/globals';
import { defined, OwnershipLost } from '#base';
import { withLastApplied } from '#diff';
import { apiResource, KubeApiError } from '#kube';
import { annotations, defaultSettings, trackedApp } from '#model';
import type { KubeObject } from '#model';
import type { ApplyOptions } from '#sync';
import { FakeClock } from '#support';
import { PolicyDenied, UnknownKind } from '../shared/errors.ts';
import { uncheckedCall, unpaced } from '../testing/pace.ts';
import { FakeApi } from '../testing/fake-api.ts';
import type { CallInterference } from '../testing/fake-api.ts';
import { GuardedWriter } from './writer.ts';
import type { WriterDeps } from './writer.ts';

const signal = new AbortController().signal;
const kinds = [
  apiResource('v1', 'ConfigMap', 'configmaps', 'namespaced'),
  apiResource('v1', 'Namespace', 'namespaces', 'cluster'),
  apiResource('rbac.authorization.k8s.io/v1', 'RoleBinding', 'rolebindings', 'namespaced'),
  apiResource('batch/v1', 'Job', 'jobs', 'namespaced'),
  apiResource('apiextensions.k8s.io/v1', 'CustomResourceDefinition', 'customresourcedefinitions', 'cluster'),
];
const how: ApplyOptions = { serverSide: false, force: false, replace: false, validate: true };
const target: KubeObject = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'a', namespace: 'apps' },
  data: { key: '1' },
};

let api: FakeApi;
let clock: FakeClock;
beforeEach(() => {
  api = new FakeApi('https://c', kinds);
  clock = new FakeClock();
});

interface WriterOptions {
  readonly interference?: CallInterference;
  readonly denied?: string;
  /** Whether the cluster is still ours. */
  readonly isOurs?: () => boolean;
  readonly pace?: WriterDeps['pace'];
  readonly dryRun?: boolean;
}

function writer({ isOurs = () => true, pace = unpaced, ...over }: WriterOptions = {}): GuardedWriter {
  const observed: KubeObject[] = [];
  return new GuardedWriter({
    cluster: { discovery: () => api.discovery, observe: (object) => void observed.push(object) },
    client: api.client(over.interference),
    fenced: (inner, send) => (isOurs() ? send(uncheckedCall(inner)) : Promise.reject(new OwnershipLost('cluster'))),
    denied: () => over.denied,
    appOf: (object) => trackedApp(object, defaultSettings.tracking),
    pace,
    clock,
    ...defined({ dryRun: over.dryRun }),
  });
}

function status(code: number, reason: string, message = reason): KubeApiError {
  return new KubeApiError({ code, reason, message }, 'x');
}

/** Fails the first call with this prefix. */
function once(prefix: string, error: Error): CallInterference {
  let left = 1;
  return {
    before: (call) => {
      if (!call.startsWith(prefix) || left === 0) return;
      left -= 1;
      throw error;
    },
  };
}

describe('apply', () => {
  it("creates with the last-applied annotation, with kubectl's message", async () => {
    const result = await writer().apply(target, null, how, signal);
    expect(result.message).toBe('configmap/a created');
    expect(api.get('ConfigMap', 'a')?.metadata.annotations).toEqual({
      'kubectl.kubernetes.io/last-applied-configuration':
        '{"apiVersion":"v1","data":{"key":"1"},"kind":"ConfigMap","metadata":{"annotations":{},"name":"a","namespace":"apps"}}\n',
    });
  });

  it('leaves unchanged objects alone, and configures changed ones', async () => {
    const live = api.put(withLastApplied(target));
    expect((await writer().apply(target, live, how, signal)).message).toBe('configmap/a unchanged');
    expect(api.calls).toEqual([]);
    const changed = { ...target, data: { other: '2' } };
    expect((await writer().apply(changed, live, how, signal)).message).toBe('configmap/a configured');
    expect(api.get('ConfigMap', 'a')?.['data']).toEqual({ other: '2' });
  });

  it('reads the object again after a conflict', async () => {
    api.put(withLastApplied({ ...target, data: { key: 'theirs' } }));
    expect((await writer().apply(target, null, how, signal)).message).toBe('configmap/a configured');
    expect(api.calls).toEqual(['create ConfigMap a', 'get ConfigMap a', 'patch ConfigMap a']);
    const gone = { ...target, metadata: { ...target.metadata, name: 'b' } };
    expect((await writer().apply(gone, gone, how, signal)).message).toBe('configmap/b created');
  });

  it('gives up after a few conflicts', async () => {
    const live = api.put(withLastApplied(target));
    const conflict = (call: string): void => {
      if (call.startsWith('patch')) throw status(409, 'Conflict');
    };
    const changed = { ...target, data: { key: '2' } };
    await expect(writer({ interference: { before: conflict } }).apply(changed, live, how, signal)).rejects.toThrow(
      'Conflict',
    );
    expect(api.calls.filter((call) => call.startsWith('get'))).toHaveLength(4);
  });

  it('replaces by force only when the server refuses the change', async () => {
    const live = api.put(withLastApplied(target));
    const changed = { ...target, data: { key: '2' } };
    const refusal = (): CallInterference => once('patch', status(422, 'Invalid', 'field is immutable'));
    await expect(writer({ interference: refusal() }).apply(changed, live, how, signal)).rejects.toThrow('immutable');
    const forced = await writer({ interference: refusal() }).apply(changed, live, { ...how, force: true }, signal);
    expect(forced.message).toBe('configmap/a configured');
    expect(api.calls).toEqual([
      'create ConfigMap a (dry run)',
      'get ConfigMap a',
      'delete ConfigMap a',
      'get ConfigMap a',
      'create ConfigMap a',
    ]);
    expect(api.get('ConfigMap', 'a')?.['data']).toEqual({ key: '2' });
  });

  it('recreates a binding to another role', async () => {
    const binding = (role: string): KubeObject => ({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: { name: 'b', namespace: 'apps' },
      roleRef: { kind: 'Role', name: role },
    });
    const live = api.put(withLastApplied(binding('old')));
    await writer().apply(binding('new'), live, how, signal);
    expect(api.calls).toContain('delete RoleBinding b');
    expect(api.get('RoleBinding', 'b')?.['roleRef']).toEqual({ kind: 'Role', name: 'new' });
  });

  it('applies on the server, and replaces, when requested', async () => {
    const live = api.put(target);
    expect((await writer().apply(target, live, { ...how, serverSide: true }, signal)).message).toBe(
      'configmap/a serverside-applied',
    );
    expect((await writer().apply(target, live, { ...how, replace: true }, signal)).message).toBe(
      'configmap/a replaced',
    );
    expect((await writer().apply(target, live, { ...how, replace: true, force: true }, signal)).message).toBe(
      'configmap "a" deleted from apps namespace\nconfigmap/a replaced',
    );
    const space: KubeObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'n' } };
    const there = api.put(space);
    expect((await writer().apply(space, there, { ...how, replace: true, force: true }, signal)).message).toBe(
      'Namespace/n updated',
    );
  });

  it('changes nothing in a dry run, and accepts that a namespace does not exist yet', async () => {
    expect((await writer({ dryRun: true }).apply(target, null, how, signal)).message).toBe(
      'configmap/a created (dry run)',
    );
    expect(api.objects.size).toBe(0);
    const missing = once('create', status(404, 'NotFound', 'namespaces "apps" not found'));
    expect((await writer({ dryRun: true, interference: missing }).apply(target, null, how, signal)).message).toBe(
      'configmap/a created (dry run)',
    );
    const invalid = once('create', status(422, 'Invalid', 'no good'));
    await expect(writer({ dryRun: true, interference: invalid }).apply(target, null, how, signal)).rejects.toThrow(
      'no good',
    );
  });

  it('refuses objects with only a name prefix, which each sync would create again', async () => {
    const nameless: KubeObject = { ...target, metadata: { ...target.metadata, name: '', generateName: 'a-' } };
    const said = 'from a-: cannot use generate name with apply';
    await expect(writer().apply(nameless, null, how, signal)).rejects.toThrow(said);
    await expect(writer().apply(nameless, null, { ...how, serverSide: true }, signal)).rejects.toThrow(said);
    expect(api.calls).toEqual([]);
    const unnamed: KubeObject = { ...target, metadata: { namespace: 'apps' } };
    for (const options of [{ ...how }, { ...how, serverSide: true }])
      await expect(writer().apply(unnamed, null, options, signal)).rejects.toThrow('resource name may not be empty');
    expect(api.calls).toEqual([]);
    await writer().apply(nameless, null, { ...how, replace: true }, signal);
    expect(api.calls).toEqual(['create ConfigMap ']);
  });

  it('refuses kinds that are not served, and objects without a name', async () => {
    const gadget = { ...target, apiVersion: 'example.com/v1', kind: 'Gadget' };
    await expect(writer().apply(gadget, null, how, signal)).rejects.toBeInstanceOf(UnknownKind);
    const nameless = { ...target, metadata: { namespace: 'apps' } };
    await expect(writer().apply(nameless, null, how, signal)).rejects.toThrow('resource name may not be empty');
  });
});

describe('the result of a dry run', () => {
  it('never enters the cache', async () => {
    const observed: KubeObject[] = [];
    const observe = (object: KubeObject): void => void observed.push(object);
    const deps: WriterDeps = {
      cluster: { discovery: () => api.discovery, observe },
      client: api.client(),
      pace: unpaced,
      clock,
      denied: () => undefined,
      appOf: () => undefined,
      fenced: (inner, send) => send(uncheckedCall(inner)),
    };
    const live = api.put(withLastApplied(target));
    const changed = { ...target, data: { key: '2' } };
    await new GuardedWriter({ ...deps, dryRun: true }).apply(changed, live, how, signal);
    expect(observed).toEqual([]);
    await new GuardedWriter(deps).apply(changed, live, how, signal);
    expect(observed.map((object) => object['data'])).toEqual([{ key: '2' }]);
  });
});

describe('delete', () => {
  it('deletes exactly this object: a new one of the same name survives', async () => {
    const live = api.put(target);
    api.delete('ConfigMap', 'a');
    const other = api.put({ ...target, data: { key: 'theirs' } });
    await expect(writer().delete(live, 'Foreground', signal)).rejects.toThrow('UID');
    expect(api.get('ConfigMap', 'a')).toBe(other);
    await writer().delete(other, 'Foreground', signal);
    expect(api.get('ConfigMap', 'a')).toBeUndefined();
  });
});

describe('the deletion of an object read some time ago', () => {
  const marked = (app: string, more: Record<string, string> = {}): KubeObject => ({
    ...target,
    metadata: {
      ...target.metadata,
      annotations: { [annotations.trackingId]: `${app}:/ConfigMap:apps/a`, ...more },
    },
  });

  it('costs one request if the object is unchanged', async () => {
    const live = api.put(marked('shop'));
    expect(await writer().delete(live, 'Foreground', signal)).toBe('accepted');
    expect(api.calls).toEqual(['delete ConfigMap a']);
  });

  it('is refused if the object now belongs to another Application', async () => {
    const live = api.put(marked('shop'));
    api.put({ ...live, ...marked('other'), metadata: { ...live.metadata, ...marked('other').metadata } });
    expect(await writer().delete(live, 'Foreground', signal)).toBe('changed');
    expect(api.calls).toEqual(['delete ConfigMap a', 'get ConfigMap a']);
    expect(api.get('ConfigMap', 'a')?.metadata.annotations).toEqual(marked('other').metadata.annotations);
  });

  it.each([
    [
      'is marked to be kept',
      { annotations: { ...marked('shop').metadata.annotations, 'argocd.argoproj.io/sync-options': 'Prune=false' } },
    ],
    ['has an owner', { ownerReferences: [{ apiVersion: 'v1', kind: 'Secret', name: 's', uid: 'u' }] }],
  ])('is refused if it %s since', async (_what, metadata) => {
    const live = api.put(marked('shop'));
    api.put({ ...live, metadata: { ...live.metadata, ...metadata } });
    expect(await writer().delete(live, 'Foreground', signal)).toBe('changed');
    expect(api.get('ConfigMap', 'a')).toMatchObject({ metadata: { uid: live.metadata.uid, ...metadata } });
  });

  it('proceeds despite other changes, even continuous ones', async () => {
    const live = api.put(marked('shop'));
    api.put({ ...live, data: { key: 'other' } });
    expect(await writer().delete(live, 'Foreground', signal)).toBe('accepted');
    expect(api.calls).toEqual(['delete ConfigMap a', 'get ConfigMap a', 'delete ConfigMap a']);
    const busy = api.put(marked('shop'));
    let writes = 0;
    const before = (call: string): void => {
      if (call.startsWith('delete')) api.put({ ...busy, data: { key: String((writes += 1)) } });
    };
    expect(await writer({ interference: { before } }).delete(busy, 'Foreground', signal)).toBe('accepted');
    expect(writes).toBe(5);
    expect(api.get('ConfigMap', 'a')).toBeUndefined();
  });

  it('proceeds for a user without read access', async () => {
    const live = api.put(marked('shop'));
    api.put({ ...live, data: { key: 'other' } });
    const interference = once('get', status(403, 'Forbidden'));
    expect(await writer({ interference }).delete(live, 'Foreground', signal)).toBe('accepted');
    expect(api.get('ConfigMap', 'a')).toBeUndefined();
  });

  it('succeeds if the object is already gone', async () => {
    const live = api.put(marked('shop'));
    api.put({ ...live, data: { key: 'other' } });
    const before = (call: string): void => {
      if (call.startsWith('get')) api.delete('ConfigMap', 'a');
    };
    expect(await writer({ interference: { before } }).delete(live, 'Foreground', signal)).toBe('accepted');
  });
});

describe('recreating an object', () => {
  const forced = { ...how, force: true };
  const immutable = status(422, 'Invalid', 'field is immutable');
  const bad = status(422, 'Invalid', 'spec.x: Required value');
  const changed = { ...target, data: { key: '2' } };
  const finished = { ...target, metadata: { ...target.metadata, finalizers: ['example.com/slow'] } };

  const labelled = { ...target, metadata: { ...target.metadata, labels: { team: 'a' } } };

  /** Refuses every patch, and the calls for which `also` returns an error. */
  function refusing(also: (call: string, created: number) => Error | undefined): CallInterference {
    let created = 0;
    return {
      before: (call) => {
        if (call.startsWith('patch')) throw immutable;
        const trial = call.endsWith('(dry run)');
        if (call.startsWith('create') && !trial) created += 1;
        const error = also(call, created);
        if (error !== undefined) throw error;
      },
    };
  }
  /** Refuses every patch, and the creations (numbered from 1) for which `errorOf` has an error. */
  const refusingCreations = (errorOf: (created: number) => Error | undefined): CallInterference =>
    refusing((call, created) =>
      call.startsWith('create') && !call.endsWith('(dry run)') ? errorOf(created) : undefined,
    );
  const untilDone = async <T>(work: Promise<T>): Promise<T> => {
    void work.catch(() => undefined);
    await clock.advance(400_000);
    return work;
  };
  const recreate = (live: KubeObject, interference: CallInterference, asked: ApplyOptions = forced) =>
    untilDone(writer({ interference }).apply(changed, live, asked, signal));

  it('does not delete it if the server would refuse the new one', async () => {
    const live = api.put(withLastApplied(target));
    const interference = refusing((call) => (call.endsWith('(dry run)') ? bad : undefined));
    await expect(writer({ interference }).apply(changed, live, forced, signal)).rejects.toBe(bad);
    await expect(writer({ interference }).apply(changed, live, { ...forced, replace: true }, signal)).rejects.toBe(bad);
    expect(api.calls.filter((call) => call.startsWith('delete'))).toEqual([]);
    expect(api.get('ConfigMap', 'a')).toBe(live);
  });

  it.each([
    ['a forced apply', forced],
    ['a forced replacement', { ...forced, replace: true }],
  ])('%s that is refused after the deletion restores the object and reports the refusal', async (_name, asked) => {
    const live = api.put({ ...withLastApplied(labelled), status: { seen: true } });
    const once = refusingCreations((created) => (created === 1 ? bad : undefined));
    await expect(recreate(live, once, asked)).rejects.toBe(bad);
    const back = api.get('ConfigMap', 'a');
    expect(back?.metadata.uid).not.toBe(live.metadata.uid);
    const { annotations, name, namespace, labels } = live.metadata;
    expect(back?.metadata).toMatchObject({ annotations, name, namespace, labels });
    expect([back?.['data'], back?.['status']]).toEqual([live['data'], live['status']]);
  });

  it('restores a binding to another role that is refused', async () => {
    const binding = (role: string): KubeObject => ({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: { name: 'b', namespace: 'apps' },
      roleRef: { kind: 'Role', name: role },
    });
    const live = api.put(withLastApplied(binding('old')));
    const interference = refusingCreations((created) => (created === 1 ? status(403, 'Forbidden') : undefined));
    await expect(untilDone(writer({ interference }).apply(binding('new'), live, how, signal))).rejects.toThrow(
      'Forbidden',
    );
    expect(api.get('RoleBinding', 'b')?.['roleRef']).toEqual({ kind: 'Role', name: 'old' });
  });

  it('retries the restore while failures may be temporary, and reports both errors if it fails', async () => {
    const live = api.put(withLastApplied(target));
    const full = status(403, 'Forbidden', 'exceeded quota');
    const twice = refusingCreations((created) => [bad, full, full][created - 1]);
    await expect(recreate(live, twice)).rejects.toBe(bad);
    expect(api.get('ConfigMap', 'a')?.['data']).toEqual({ key: '1' });
    const always = refusingCreations((created) => (created === 1 ? bad : full));
    await expect(recreate(api.get('ConfigMap', 'a')!, always)).rejects.toThrow(
      'An error occurred force-replacing the existing object with the newly provided one:\n\nspec.x: Required value.\n\nAdditionally, an error occurred attempting to restore the original object:\n\nexceeded quota',
    );
  });

  it('restores an object whose port is still taken for a moment', async () => {
    const live = api.put(withLastApplied(target));
    const taken = status(422, 'Invalid', 'spec.ports[0].nodePort: provided port is already allocated');
    await expect(
      recreate(
        live,
        refusingCreations((created) => [bad, taken][created - 1]),
      ),
    ).rejects.toBe(bad);
    expect(api.get('ConfigMap', 'a')?.['data']).toEqual({ key: '1' });
  });

  it("restores nothing over another client's object, or when the cluster is no longer ours", async () => {
    const live = api.put(withLastApplied(target));
    let theirs: KubeObject | undefined;
    const taken = refusingCreations(() => {
      theirs ??= api.put({ ...target, data: { key: 'theirs' } });
      return undefined;
    });
    await expect(recreate(live, taken)).rejects.toThrow('already exists');
    expect(api.get('ConfigMap', 'a')).toBe(theirs);
    const lost = refusingCreations(() => new OwnershipLost('cluster'));
    const before = api.calls.length;
    await expect(recreate(theirs!, lost)).rejects.toBeInstanceOf(OwnershipLost);
    expect(api.calls.slice(before).filter((call) => call === 'create ConfigMap a')).toEqual([]);
  });

  it('does not delete a new object of the same name', async () => {
    const live = api.put(withLastApplied(target));
    const swap = refusing((call) => {
      if (call !== 'delete ConfigMap a') return undefined;
      api.delete('ConfigMap', 'a');
      api.put(target);
      return undefined;
    });
    await expect(writer({ interference: swap }).apply(changed, live, forced, signal)).rejects.toThrow('UID');
    expect(api.get('ConfigMap', 'a')?.['data']).toEqual({ key: '1' });
  });

  it('leaves the rest to the next owner at once when the cluster is lost midway', async () => {
    const live = api.put(withLastApplied(target));
    const lost = new OwnershipLost('cluster');
    const afterDeletion = refusingCreations((created) => (created === 1 ? lost : undefined));
    await expect(recreate(live, afterDeletion)).rejects.toBe(lost);
    expect(api.get('ConfigMap', 'a')).toBeUndefined();
    const duringRestore = refusingCreations((created) => (created === 1 ? bad : lost));
    await expect(recreate(api.put(withLastApplied(target)), duringRestore)).rejects.toBe(lost);
  });

  it("keeps another client's object created after the refusal, and reports the refusal", async () => {
    const live = api.put(withLastApplied(target));
    let theirs: KubeObject | undefined;
    const taken = refusingCreations((created) => {
      if (created > 1) return undefined;
      theirs = api.put({ ...target, data: { key: 'theirs' } });
      return bad;
    });
    await expect(recreate(live, taken)).rejects.toBe(bad);
    expect(api.get('ConfigMap', 'a')).toBe(theirs);
  });

  it("does not retry over another client's object, or when the original is refused for good", async () => {
    let creations = 0;
    const refusingAll = (error: Error): CallInterference =>
      refusingCreations((created) => {
        creations = created;
        return error;
      });
    const exists = status(409, 'AlreadyExists');
    await expect(recreate(api.put(withLastApplied(target)), refusingAll(exists))).rejects.toBe(exists);
    expect(creations).toBe(1);
    const hopeless = recreate(api.put(withLastApplied(target)), refusingAll(bad));
    await expect(hopeless).rejects.toThrow('attempting to restore the original object');
    expect(creations).toBe(2);
  });

  it('does not wait for another object of the same name: the deleted one is gone', async () => {
    const live = api.put(withLastApplied(target));
    const swapped: CallInterference = {
      ...refusing(() => undefined),
      after: (call) => {
        if (call === 'delete ConfigMap a') api.put({ ...target, data: { key: 'theirs' } });
      },
    };
    const started = clock.now();
    let endedAt = Number.POSITIVE_INFINITY;
    const work = writer({ interference: swapped })
      .apply(changed, live, forced, signal)
      .finally(() => (endedAt = clock.now()));
    await expect(untilDone(work)).rejects.toThrow('already exists');
    expect(endedAt).toBe(started);
    expect(api.get('ConfigMap', 'a')?.['data']).toEqual({ key: 'theirs' });
  });

  it('waits until the object is gone, and reports when it is not', async () => {
    const live = api.put(withLastApplied(finished));
    await expect(
      recreate(
        live,
        refusing(() => undefined),
      ),
    ).rejects.toThrow('waiting until configmap/a is deleted');
    expect(api.calls).not.toContain('create ConfigMap a');
  });

  it('ignores a port held by the object itself, and webhooks without dry-run support', async () => {
    for (const why of [
      status(422, 'Invalid', 'spec.ports[0].nodePort: Invalid value: 30080: provided port is already allocated'),
      status(400, 'BadRequest', 'admission webhook "x" does not support dry run'),
    ]) {
      const live = api.put(withLastApplied(target));
      const interference = refusing((call) => (call.endsWith('(dry run)') ? why : undefined));
      await writer({ interference }).apply(changed, live, forced, signal);
      expect(api.get('ConfigMap', 'a')?.['data']).toEqual({ key: '2' });
    }
  });

  it('never deletes a Namespace or CRD to recreate it', async () => {
    for (const kind of ['Namespace', 'CustomResourceDefinition']) {
      const apiVersion = kind === 'Namespace' ? 'v1' : 'apiextensions.k8s.io/v1';
      const object = { apiVersion, kind, metadata: { name: 'n' }, spec: { a: 1 } };
      const live = api.put(withLastApplied(object));
      const interference = refusing(() => undefined);
      const applied = writer({ interference }).apply({ ...object, spec: { a: 2 } }, live, forced, signal);
      await expect(applied).rejects.toBe(immutable);
    }
    expect(api.calls.filter((call) => call.startsWith('delete'))).toEqual([]);
  });

  it('restores a Job without the server-generated selector', async () => {
    const generated = { 'batch.kubernetes.io/controller-uid': 'u', 'controller-uid': 'u', 'job-name': 'j' };
    const job = (image: string): KubeObject => ({
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: 'j', namespace: 'apps' },
      spec: {
        selector: { matchLabels: { 'batch.kubernetes.io/controller-uid': 'u' } },
        template: { metadata: { labels: { app: 'x', ...generated } }, spec: { containers: [{ name: 'c', image }] } },
      },
    });
    const live = api.put(job('1'));
    const interference = refusingCreations((created) => (created === 1 ? bad : undefined));
    await expect(untilDone(writer({ interference }).apply(job('2'), live, forced, signal))).rejects.toBe(bad);
    expect(api.get('Job', 'j')?.['spec']).toEqual({
      template: { metadata: { labels: { app: 'x' } }, spec: { containers: [{ name: 'c', image: '1' }] } },
    });
  });

  it('only checks in a dry run', async () => {
    const live = api.put(withLastApplied(target));
    const interference = refusing(() => undefined);
    const dry = writer({ interference, dryRun: true });
    expect((await dry.apply(changed, live, forced, signal)).message).toBe('configmap/a configured (dry run)');
    expect((await dry.apply(changed, live, { ...forced, replace: true }, signal)).message).toBe(
      'configmap/a configured (dry run)',
    );
    expect(api.get('ConfigMap', 'a')).toBe(live);
  });
});

describe('Replace=true', () => {
  const replacing = { ...how, replace: true };

  it("sends the server's current version, not the cached one", async () => {
    const old = api.put(target);
    api.put({ ...old, data: { key: 'moved on' } });
    const result = await writer().apply({ ...target, data: { key: '2' } }, old, replacing, signal);
    expect(result.message).toBe('configmap/a replaced');
    expect(api.get('ConfigMap', 'a')?.['data']).toEqual({ key: '2' });
  });

  describe('of a kind that is updated in place', () => {
    const space: KubeObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'n' } };
    const wanted: KubeObject = { ...space, metadata: { name: 'n', labels: { team: 'new' } } };

    it('sends the version that was compared, and after a conflict the present one', async () => {
      const old = api.put(space);
      api.put({ ...old, spec: { finalizers: ['theirs'] } });
      const { message, object } = await writer().apply(wanted, old, replacing, signal);
      expect(message).toBe('Namespace/n updated');
      expect(api.calls.filter((call) => call.startsWith('replace'))).toHaveLength(2);
      expect(api.get('Namespace', 'n')?.metadata).toEqual(object.metadata);
      expect(object.metadata.labels).toEqual({ team: 'new' });
    });

    it.each([
      ['another Application', { annotations: { 'argocd.argoproj.io/tracking-id': 'theirs:/Namespace:/n' } }],
      ['an annotation', { annotations: { 'argocd.argoproj.io/sync-options': 'Replace=false' } }],
      ['an owner', { ownerReferences: [{ apiVersion: 'v1', kind: 'A', name: 'a', uid: 'u' }] }],
    ])('leaves the object alone after a conflict if %s has taken it over', async (_what, taken) => {
      const old = api.put(space);
      api.put({ ...old, metadata: { ...old.metadata, ...taken } });
      await expect(writer().apply(wanted, old, replacing, signal)).rejects.toThrow('object was modified');
      expect(api.get('Namespace', 'n')?.metadata).toMatchObject(taken);
    });

    it('leaves a new object of the same name alone', async () => {
      const old = api.put(space);
      api.put({ ...space, metadata: { name: 'n', uid: 'another' } });
      await expect(
        writer().apply(wanted, { ...old, metadata: { ...old.metadata, uid: 'first' } }, replacing, signal),
      ).rejects.toThrow('object was modified');
    });

    it('gives up while another writer is always faster', async () => {
      const old = api.put(space);
      let count = 0;
      const before = (call: string): void => {
        count += 1;
        if (call.startsWith('replace')) api.put({ ...old, spec: { finalizers: [String(count)] } });
      };
      await expect(writer({ interference: { before } }).apply(wanted, old, replacing, signal)).rejects.toThrow(
        'object was modified',
      );
      expect(api.calls.filter((call) => call.startsWith('replace'))).toHaveLength(5);
    });
  });

  it('sends the version that Git names', async () => {
    const live = api.put(api.put(target));
    const pinned = { ...target, metadata: { ...target.metadata, resourceVersion: '1' } };
    await expect(writer().apply(pinned, live, replacing, signal)).rejects.toThrow('object was modified');
  });
});

describe('fields sent with their live values', () => {
  const wanted: KubeObject = { ...target, data: { key: '2', tuned: 'git' } };
  const buildTarget = (live: KubeObject): Promise<KubeObject> =>
    Promise.resolve({
      ...wanted,
      data: { key: '2', tuned: (live['data'] as { tuned?: string } | undefined)?.tuned ?? 'git' },
    });
  /** Another client writes between our read and our write. */
  const tunedBefore = (verb: string): CallInterference => {
    let left = 1;
    return {
      before: (call) => {
        const live = api.get('ConfigMap', 'a');
        if (!call.startsWith(verb) || live === undefined || left === 0) return;
        left -= 1;
        api.put({ ...live, data: { key: '1', tuned: 'just now' } });
      },
    };
  };
  const ways: [string, string, Partial<ApplyOptions>][] = [
    ['a patch', 'patch', {}],
    ['server-side apply', 'patch', { serverSide: true }],
    ['a replacement', 'replace', { replace: true }],
  ];

  it.each(ways)('%s keeps values that the cache does not have yet', async (_name, _verb, as) => {
    const old = api.put(withLastApplied({ ...target, data: { key: '1', tuned: 'old' } }));
    api.put({ ...old, data: { key: '1', tuned: 'newer' } });
    await writer().apply(wanted, old, { ...how, ...as, buildTarget }, signal);
    expect(api.get('ConfigMap', 'a')?.['data']).toEqual({ key: '2', tuned: 'newer' });
  });

  it.each(ways)('%s that conflicts with another write is retried', async (_name, verb, as) => {
    const old = api.put(withLastApplied({ ...target, data: { key: '1', tuned: 'old' } }));
    const racing = writer({ interference: tunedBefore(verb) });
    await racing.apply(wanted, old, { ...how, ...as, buildTarget }, signal);
    expect(api.get('ConfigMap', 'a')?.['data']).toEqual({ key: '2', tuned: 'just now' });
    const record = api.get('ConfigMap', 'a')?.metadata.annotations?.[annotations.lastApplied] ?? '';
    expect(record).not.toContain('resourceVersion');
  });

  it('survive a forced apply: a busy writer is no reason to delete the object', async () => {
    const old = api.put(withLastApplied({ ...target, data: { key: '1', tuned: 'old' } }));
    let turn = 0;
    const before = (call: string): void => {
      const live = api.get('ConfigMap', 'a');
      if (call.startsWith('patch') && live !== undefined) api.put({ ...live, data: { tuned: String((turn += 1)) } });
    };
    const busy = writer({ interference: { before } });
    await expect(busy.apply(wanted, old, { ...how, force: true, buildTarget }, signal)).rejects.toThrow(
      'object was modified',
    );
    expect(api.get('ConfigMap', 'a')?.metadata.uid).toBe(old.metadata.uid);
  });

  it('respect an object created at that moment', async () => {
    const made = { ...target, data: { key: '1', tuned: 'just made' } };
    const before = (call: string): void => {
      if (call.startsWith('create') && api.get('ConfigMap', 'a') === undefined) api.put(made);
    };
    await writer({ interference: { before } }).apply(wanted, null, { ...how, buildTarget }, signal);
    expect(api.get('ConfigMap', 'a')?.['data']).toEqual({ key: '2', tuned: 'just made' });
  });
});

it('removes no finalizer from an object that changed since it was read', async () => {
  const seen = api.put({ ...target, metadata: { ...target.metadata, finalizers: ['example.com/ours'] } });
  api.put({ ...seen, metadata: { ...seen.metadata, finalizers: ['example.com/ours', 'example.com/theirs'] } });
  await expect(writer().patchMetadata(seen, { finalizers: null }, signal)).rejects.toMatchObject({ status: 409 });
  expect(api.get('ConfigMap', 'a')?.metadata.finalizers).toHaveLength(2);
});

describe('a writer for dry runs', () => {
  const all: [string, (w: GuardedWriter) => Promise<unknown>][] = [
    ['apply', (w) => w.apply({ ...target, data: { key: '2' } }, api.get('ConfigMap', 'a')!, how, signal)],
    ['create', (w) => w.create({ ...target, metadata: { ...target.metadata, name: 'b' } }, signal)],
    ['replace', (w) => w.apply(target, null, { ...how, replace: true }, signal)],
    ['force', (w) => w.apply(target, null, { ...how, replace: true, force: true }, signal)],
    ['server side', (w) => w.apply(target, null, { ...how, serverSide: true }, signal)],
    ['delete', (w) => w.delete(api.get('ConfigMap', 'a')!, 'Foreground', signal)],
    ['patchMetadata', (w) => w.patchMetadata(api.get('ConfigMap', 'a')!, { finalizers: null }, signal)],
  ];
  it.each(all)('changes nothing: %s', async (_name, act) => {
    const live = api.put(withLastApplied(target));
    await act(writer({ dryRun: true }));
    expect(api.calls.filter((call) => !call.startsWith('get')).every((call) => call.endsWith('(dry run)'))).toBe(true);
    expect([...api.objects.values()]).toEqual([live]);
  });
});

describe('every change', () => {
  const acts: [string, (w: GuardedWriter) => Promise<unknown>][] = [
    ['apply', (w) => w.apply(target, null, how, signal)],
    ['create', (w) => w.create(target, signal)],
    ['delete', (w) => w.delete(target, 'Foreground', signal)],
    ['patchMetadata', (w) => w.patchMetadata(target, { finalizers: null }, signal)],
  ];

  it.each(acts)('is refused when the cluster is no longer ours: %s', async (_name, act) => {
    await expect(act(writer({ isOurs: () => false }))).rejects.toBeInstanceOf(OwnershipLost);
    expect(api.calls).toEqual([]);
  });

  it.each(acts)('is refused when the cluster is lost while the change waits for its turn: %s', async (_name, act) => {
    api.put(target);
    let isOurs = true;
    const pace: WriterDeps['pace'] = {
      ...unpaced,
      write: (_signal, send) => {
        isOurs = false;
        return send();
      },
    };
    await expect(act(writer({ isOurs: () => isOurs, pace }))).rejects.toBeInstanceOf(OwnershipLost);
    expect(api.calls.filter((call) => !call.startsWith('get'))).toEqual([]);
  });

  it.each(acts)('is refused when the project does not allow it: %s', async (_name, act) => {
    await expect(act(writer({ denied: 'not permitted' }))).rejects.toBeInstanceOf(PolicyDenied);
    expect(api.calls).toEqual([]);
  });
});
