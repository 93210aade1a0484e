import { beforeEach, describe, expect, it } from '@jest/globals';
import { Limiter, OwnershipLost } from '#base';
import { withLastApplied } from '#diff';
import { apiResource, KubeApiError } from '#kube';
import { annotations, defaultSettings, trackedApp } from '#model';
import type { KubeObject } from '#model';
import type { ApplyHow } from '#sync';
import { FakeClock } from '#support';
import { PolicyDenied, UnknownKind } from './errors.ts';
import { FakeApi } from './testing/fake-api.ts';
import type { Interference } from './testing/fake-api.ts';
import { GuardedWriter } from './writer.ts';

const signal = new AbortController().signal;
const kinds = [
  apiResource('v1', 'ConfigMap', 'configmaps', 'namespaced'),
  apiResource('v1', 'Namespace', 'namespaces', 'cluster'),
  apiResource('rbac.authorization.k8s.io/v1', 'RoleBinding', 'rolebindings', 'namespaced'),
  apiResource('batch/v1', 'Job', 'jobs', 'namespaced'),
  apiResource('apiextensions.k8s.io/v1', 'CustomResourceDefinition', 'customresourcedefinitions', 'cluster'),
];
const how: ApplyHow = { dryRun: false, serverSide: false, force: false, replace: false, validate: true };
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

function writer(
  over: { interference?: Interference; denied?: string; owned?: boolean; dryRun?: boolean } = {},
): GuardedWriter {
  const observed: KubeObject[] = [];
  return new GuardedWriter({
    cluster: { discovery: () => api.discovery, observe: (object) => void observed.push(object) },
    client: api.client(over.interference),
    fenced: (inner, send) => (over.owned === false ? Promise.reject(new OwnershipLost('cluster')) : send(inner)),
    denied: () => over.denied,
    appOf: (object) => trackedApp(object, defaultSettings.tracking),
    limiter: new Limiter(2),
    clock,
    ...(over.dryRun === undefined ? {} : { dryRun: over.dryRun }),
  });
}

function status(code: number, reason: string, message = reason): KubeApiError {
  return new KubeApiError({ code, reason, message }, 'x');
}

/** Fails the first call that starts so. */
function once(prefix: string, error: Error): Interference {
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
  it("creates with the record of what was applied, in kubectl's words", async () => {
    const result = await writer().apply(target, null, how, signal);
    expect(result.message).toBe('configmap/a created');
    expect(api.get('ConfigMap', 'a')?.metadata.annotations).toEqual({
      'kubectl.kubernetes.io/last-applied-configuration':
        '{"apiVersion":"v1","data":{"key":"1"},"kind":"ConfigMap","metadata":{"annotations":{},"name":"a","namespace":"apps"}}\n',
    });
  });

  it('leaves alone what is as it should be, and configures what is not', async () => {
    const live = api.put(withLastApplied(target));
    expect((await writer().apply(target, live, how, signal)).message).toBe('configmap/a unchanged');
    expect(api.calls).toEqual([]);
    const changed = { ...target, data: { other: '2' } };
    expect((await writer().apply(changed, live, how, signal)).message).toBe('configmap/a configured');
    expect(api.get('ConfigMap', 'a')?.['data']).toEqual({ other: '2' });
  });

  it('reads again when someone was faster', async () => {
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

  it('replaces by force what the server refuses to change, and only then', async () => {
    const live = api.put(withLastApplied(target));
    const changed = { ...target, data: { key: '2' } };
    const refusal = (): Interference => once('patch', status(422, 'Invalid', 'field is immutable'));
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

  it('makes a binding anew that binds another role', async () => {
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

  it('applies on the server, and replaces, when told to', async () => {
    const live = api.put(target);
    expect((await writer().apply(target, live, { ...how, serverSide: true }, signal)).message).toBe(
      'configmap/a serverside-applied',
    );
    expect((await writer().apply(target, live, { ...how, replace: true }, signal)).message).toBe(
      'configmap/a replaced',
    );
    expect((await writer().apply(target, live, { ...how, replace: true, force: true }, signal)).message).toBe(
      'configmap/a replaced',
    );
    const space: KubeObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'n' } };
    const there = api.put(space);
    expect((await writer().apply(space, there, { ...how, replace: true, force: true }, signal)).message).toBe(
      'Namespace/n updated',
    );
  });

  it('changes nothing in a dry run, and accepts that a namespace is still to come', async () => {
    expect((await writer().apply(target, null, { ...how, dryRun: true }, signal)).message).toBe(
      'configmap/a created (dry run)',
    );
    expect(api.objects.size).toBe(0);
    const missing = once('create', status(404, 'NotFound', 'namespaces "apps" not found'));
    expect(
      (await writer({ interference: missing }).apply(target, null, { ...how, dryRun: true }, signal)).message,
    ).toBe('configmap/a created (dry run)');
    const invalid = once('create', status(422, 'Invalid', 'no good'));
    await expect(
      writer({ interference: invalid }).apply(target, null, { ...how, dryRun: true }, signal),
    ).rejects.toThrow('no good');
  });

  it('does not apply what has no name but a prefix: each sync would make another one', async () => {
    const nameless: KubeObject = { ...target, metadata: { ...target.metadata, name: '', generateName: 'a-' } };
    const said = 'from a-: cannot use generate name with apply';
    await expect(writer().apply(nameless, null, how, signal)).rejects.toThrow(said);
    await expect(writer().apply(nameless, null, { ...how, serverSide: true }, signal)).rejects.toThrow(said);
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

describe('8.1.3: what a dry run returns', () => {
  it('8.1.3: never enters the cache', async () => {
    const observed: KubeObject[] = [];
    const observe = (object: KubeObject): void => void observed.push(object);
    const guarded = new GuardedWriter({
      cluster: { discovery: () => api.discovery, observe },
      client: api.client(),
      limiter: new Limiter(2),
      clock,
      denied: () => undefined,
      appOf: () => undefined,
      fenced: (inner, send) => send(inner),
    });
    const live = api.put(withLastApplied(target));
    const changed = { ...target, data: { key: '2' } };
    await guarded.apply(changed, live, { ...how, dryRun: true }, signal);
    expect(observed).toEqual([]);
    await guarded.apply(changed, live, how, signal);
    expect(observed.map((object) => object['data'])).toEqual([{ key: '2' }]);
  });
});

describe('delete', () => {
  it('8.1.11: is of this very object: what has taken its name since stays', async () => {
    const live = api.put(target);
    api.delete('ConfigMap', 'a');
    const other = api.put({ ...target, data: { key: 'theirs' } });
    await expect(writer().delete(live, 'Foreground', signal)).rejects.toThrow('UID');
    expect(api.get('ConfigMap', 'a')).toBe(other);
    await writer().delete(other, 'Foreground', signal);
    expect(api.get('ConfigMap', 'a')).toBeUndefined();
  });
});

describe('14.4: a deletion of what was looked at a while ago', () => {
  const marked = (app: string, more: Record<string, string> = {}): KubeObject => ({
    ...target,
    metadata: {
      ...target.metadata,
      annotations: { [annotations.trackingId]: `${app}:/ConfigMap:apps/a`, ...more },
    },
  });

  it('14.4: costs one request while nobody has written it', async () => {
    const live = api.put(marked('shop'));
    expect(await writer().delete(live, 'Foreground', signal)).toBe('accepted');
    expect(api.calls).toEqual(['delete ConfigMap a']);
  });

  it('14.4: is not made when it belongs to another Application since', async () => {
    const live = api.put(marked('shop'));
    api.put({ ...live, ...marked('other'), metadata: { ...live.metadata, ...marked('other').metadata } });
    expect(await writer().delete(live, 'Foreground', signal)).toBe('changed');
    expect(api.calls).toEqual(['delete ConfigMap a', 'get ConfigMap a']);
    expect(api.get('ConfigMap', 'a')?.metadata.annotations).toEqual(marked('other').metadata.annotations);
  });

  it.each([
    [
      'says that it is to stay',
      { annotations: { ...marked('shop').metadata.annotations, 'argocd.argoproj.io/sync-options': 'Prune=false' } },
    ],
    ['has an owner', { ownerReferences: [{ apiVersion: 'v1', kind: 'Secret', name: 's', uid: 'u' }] }],
  ])('14.4: is not made when it %s since', async (_what, metadata) => {
    const live = api.put(marked('shop'));
    api.put({ ...live, metadata: { ...live.metadata, ...metadata } });
    expect(await writer().delete(live, 'Foreground', signal)).toBe('changed');
    expect(api.get('ConfigMap', 'a')).toMatchObject({ metadata: { uid: live.metadata.uid, ...metadata } });
  });

  it('14.4: is made of what others have written otherwise, also of what they write all the time', async () => {
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

  it('14.4: is made also as somebody who may not read it', async () => {
    const live = api.put(marked('shop'));
    api.put({ ...live, data: { key: 'other' } });
    const interference = once('get', status(403, 'Forbidden'));
    expect(await writer({ interference }).delete(live, 'Foreground', signal)).toBe('accepted');
    expect(api.get('ConfigMap', 'a')).toBeUndefined();
  });

  it('14.4: is as good as made when it is gone', async () => {
    const live = api.put(marked('shop'));
    api.put({ ...live, data: { key: 'other' } });
    const before = (call: string): void => {
      if (call.startsWith('get')) api.delete('ConfigMap', 'a');
    };
    expect(await writer({ interference: { before } }).delete(live, 'Foreground', signal)).toBe('accepted');
  });
});

describe('8.1.2: making an object anew', () => {
  const forced = { ...how, force: true };
  const immutable = status(422, 'Invalid', 'field is immutable');
  const bad = status(422, 'Invalid', 'spec.x: Required value');
  const changed = { ...target, data: { key: '2' } };
  const finished = { ...target, metadata: { ...target.metadata, finalizers: ['example.com/slow'] } };

  const labelled = { ...target, metadata: { ...target.metadata, labels: { team: 'a' } } };

  /** Refuses every patch, and whatever `also` says. */
  function refusing(also: (call: string, created: number) => Error | undefined): Interference {
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
  const untilDone = async <T>(work: Promise<T>): Promise<T> => {
    void work.catch(() => undefined);
    await clock.advance(400_000);
    return work;
  };

  it('8.1.2: what the server would refuse is not even deleted', async () => {
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
  ])(
    '8.1.2: %s that is refused after the deletion puts the object back and tells the refusal',
    async (_name, asked) => {
      const live = api.put({ ...withLastApplied(labelled), status: { seen: true } });
      const interference = refusing((call, created) =>
        call === 'create ConfigMap a' && created === 1 ? bad : undefined,
      );
      await expect(untilDone(writer({ interference }).apply(changed, live, asked, signal))).rejects.toBe(bad);
      const back = api.get('ConfigMap', 'a');
      expect(back?.metadata.uid).not.toBe(live.metadata.uid);
      const { annotations, name, namespace, labels } = live.metadata;
      expect(back?.metadata).toMatchObject({ annotations, name, namespace, labels });
      expect([back?.['data'], back?.['status']]).toEqual([live['data'], live['status']]);
    },
  );

  it('8.1.2: a binding to another role that is refused comes back too', async () => {
    const binding = (role: string): KubeObject => ({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: { name: 'b', namespace: 'apps' },
      roleRef: { kind: 'Role', name: role },
    });
    const live = api.put(withLastApplied(binding('old')));
    const interference = refusing((call, created) =>
      call === 'create RoleBinding b' && created === 1 ? status(403, 'Forbidden') : undefined,
    );
    await expect(untilDone(writer({ interference }).apply(binding('new'), live, how, signal))).rejects.toThrow(
      'Forbidden',
    );
    expect(api.get('RoleBinding', 'b')?.['roleRef']).toEqual({ kind: 'Role', name: 'old' });
  });

  it('8.1.2: putting back is tried again while it may pass, and both errors are told when it does not', async () => {
    const live = api.put(withLastApplied(target));
    const full = status(403, 'Forbidden', 'exceeded quota');
    const twice = refusing((call, created) => {
      if (call !== 'create ConfigMap a' || created > 3) return undefined;
      return created === 1 ? bad : full;
    });
    await expect(untilDone(writer({ interference: twice }).apply(changed, live, forced, signal))).rejects.toBe(bad);
    expect(api.get('ConfigMap', 'a')?.['data']).toEqual({ key: '1' });
    const ever = refusing((call, created) => {
      if (call !== 'create ConfigMap a') return undefined;
      return created === 1 ? bad : full;
    });
    const lost = untilDone(writer({ interference: ever }).apply(changed, api.get('ConfigMap', 'a')!, forced, signal));
    await expect(lost).rejects.toThrow(
      'An error occurred force-replacing the existing object with the newly provided one:\n\nspec.x: Required value.\n\nAdditionally, an error occurred attempting to restore the original object:\n\nexceeded quota',
    );
  });

  it('8.1.2: a port of the original that is still taken for a moment keeps nothing from coming back', async () => {
    const live = api.put(withLastApplied(target));
    const taken = status(422, 'Invalid', 'spec.ports[0].nodePort: provided port is already allocated');
    const late = refusing((call, created) => {
      if (call !== 'create ConfigMap a' || created > 2) return undefined;
      return created === 1 ? bad : taken;
    });
    await expect(untilDone(writer({ interference: late }).apply(changed, live, forced, signal))).rejects.toBe(bad);
    expect(api.get('ConfigMap', 'a')?.['data']).toEqual({ key: '1' });
  });

  it('8.1.2: nothing is put back over what somebody else has made, nor when the cluster is no longer ours', async () => {
    const live = api.put(withLastApplied(target));
    let theirs: KubeObject | undefined;
    const taken = refusing((call) => {
      if (call === 'create ConfigMap a') theirs ??= api.put({ ...target, data: { key: 'theirs' } });
      return undefined;
    });
    const work = untilDone(writer({ interference: taken }).apply(changed, live, forced, signal));
    await expect(work).rejects.toThrow('already exists');
    expect(api.get('ConfigMap', 'a')).toBe(theirs);
    const gone = refusing((call) => (call === 'create ConfigMap a' ? new OwnershipLost('cluster') : undefined));
    const before = api.calls.length;
    const left = untilDone(writer({ interference: gone }).apply(changed, theirs!, forced, signal));
    await expect(left).rejects.toBeInstanceOf(OwnershipLost);
    expect(api.calls.slice(before).filter((call) => call === 'create ConfigMap a')).toEqual([]);
  });

  it('8.1.2: a namesake that appears meanwhile is not deleted', async () => {
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

  it('8.1.2: whoever loses the cluster in the middle leaves the rest to the next owner, at once', async () => {
    const live = api.put(withLastApplied(target));
    const lost = new OwnershipLost('cluster');
    const afterDeletion = refusing((call, created) =>
      call === 'create ConfigMap a' && created === 1 ? lost : undefined,
    );
    const first = untilDone(writer({ interference: afterDeletion }).apply(changed, live, forced, signal));
    await expect(first).rejects.toBe(lost);
    expect(api.get('ConfigMap', 'a')).toBeUndefined();
    const whilePuttingBack = refusing((call, created) => {
      if (call !== 'create ConfigMap a') return undefined;
      return created === 1 ? bad : lost;
    });
    const again = api.put(withLastApplied(target));
    const second = untilDone(writer({ interference: whilePuttingBack }).apply(changed, again, forced, signal));
    await expect(second).rejects.toBe(lost);
  });

  it('8.1.2: what somebody else made after the refusal stays, and the refusal is told', async () => {
    const live = api.put(withLastApplied(target));
    let theirs: KubeObject | undefined;
    const taken = refusing((call, created) => {
      if (call !== 'create ConfigMap a' || created > 1) return undefined;
      theirs = api.put({ ...target, data: { key: 'theirs' } });
      return bad;
    });
    await expect(untilDone(writer({ interference: taken }).apply(changed, live, forced, signal))).rejects.toBe(bad);
    expect(api.get('ConfigMap', 'a')).toBe(theirs);
  });

  it('8.1.2: where somebody else was faster, and where the original is refused for good, nothing is tried again', async () => {
    let tries = 0;
    const count = (call: string): boolean => {
      if (call === 'create ConfigMap a') tries += 1;
      return call === 'create ConfigMap a';
    };
    const exists = status(409, 'AlreadyExists');
    const live = api.put(withLastApplied(target));
    const taken = refusing((call) => (count(call) ? exists : undefined));
    await expect(untilDone(writer({ interference: taken }).apply(changed, live, forced, signal))).rejects.toBe(exists);
    expect(tries).toBe(1);
    tries = 0;
    const again = api.put(withLastApplied(target));
    const hopeless = refusing((call) => (count(call) ? bad : undefined));
    const work = untilDone(writer({ interference: hopeless }).apply(changed, again, forced, signal));
    await expect(work).rejects.toThrow('attempting to restore the original object');
    expect(tries).toBe(2);
  });

  it('8.1.2: another object under the name is not waited for: the deleted one is gone', async () => {
    const live = api.put(withLastApplied(target));
    const swapped: Interference = {
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

  it('8.1.2: waits until the object is gone, and says so when it does not go', async () => {
    const live = api.put(withLastApplied(finished));
    const stuck = untilDone(writer({ interference: refusing(() => undefined) }).apply(changed, live, forced, signal));
    await expect(stuck).rejects.toThrow('waiting until configmap/a is deleted');
    expect(api.calls).not.toContain('create ConfigMap a');
  });

  it('8.1.2: a port that the object itself holds, and a webhook without dry runs, are no refusal', async () => {
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

  it('8.1.2: a Namespace and a CRD are never deleted to be made anew', async () => {
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

  it("8.1.2: a Job comes back without the server's own selector", async () => {
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
    const interference = refusing((call, created) => (call === 'create Job j' && created === 1 ? bad : undefined));
    await expect(untilDone(writer({ interference }).apply(job('2'), live, forced, signal))).rejects.toBe(bad);
    expect(api.get('Job', 'j')?.['spec']).toEqual({
      template: { metadata: { labels: { app: 'x' } }, spec: { containers: [{ name: 'c', image: '1' }] } },
    });
  });

  it('8.1.2: a dry run only asks', async () => {
    const live = api.put(withLastApplied(target));
    const interference = refusing(() => undefined);
    const dry = { ...forced, dryRun: true };
    expect((await writer({ interference }).apply(changed, live, dry, signal)).message).toBe(
      'configmap/a configured (dry run)',
    );
    expect((await writer({ interference }).apply(changed, live, { ...dry, replace: true }, signal)).message).toBe(
      'configmap/a configured (dry run)',
    );
    expect(api.get('ConfigMap', 'a')).toBe(live);
  });
});

describe('8.1.14: Replace=true', () => {
  const replacing = { ...how, replace: true };

  it('8.1.14: sends the version that is there now, not the one of the cache', async () => {
    const old = api.put(target);
    api.put({ ...old, data: { key: 'moved on' } });
    const result = await writer().apply({ ...target, data: { key: '2' } }, old, replacing, signal);
    expect(result.message).toBe('configmap/a replaced');
    expect(api.get('ConfigMap', 'a')?.['data']).toEqual({ key: '2' });
  });

  it('8.1.14: keeps to the cache for what is updated in place, and to a version that Git names', async () => {
    const space: KubeObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'n' } };
    const old = api.put(space);
    api.put({ ...old, spec: { finalizers: [] } });
    await expect(writer().apply(space, old, replacing, signal)).rejects.toThrow('object was modified');
    const live = api.put(target);
    const pinned = { ...target, metadata: { ...target.metadata, resourceVersion: '1' } };
    await expect(writer().apply(pinned, live, replacing, signal)).rejects.toThrow('object was modified');
  });
});

describe('8.1.6: what is sent over what is live', () => {
  const wanted: KubeObject = { ...target, data: { key: '2', tuned: 'git' } };
  const over = (live: KubeObject): Promise<KubeObject> =>
    Promise.resolve({
      ...wanted,
      data: { key: '2', tuned: (live['data'] as { tuned?: string } | undefined)?.tuned ?? 'git' },
    });
  /** Somebody writes between our read and our write. */
  const tunedBefore = (verb: string): Interference => {
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
  const ways: [string, string, Partial<ApplyHow>][] = [
    ['a patch', 'patch', {}],
    ['server-side apply', 'patch', { serverSide: true }],
    ['a replacement', 'replace', { replace: true }],
  ];

  it.each(ways)('8.1.6: %s keeps what the cache does not know yet', async (_name, _verb, as) => {
    const old = api.put(withLastApplied({ ...target, data: { key: '1', tuned: 'old' } }));
    api.put({ ...old, data: { key: '1', tuned: 'newer' } });
    await writer().apply(wanted, old, { ...how, ...as, over }, signal);
    expect(api.get('ConfigMap', 'a')?.['data']).toEqual({ key: '2', tuned: 'newer' });
  });

  it.each(ways)('8.1.6: %s loses against who writes at that moment, and is made anew', async (_name, verb, as) => {
    const old = api.put(withLastApplied({ ...target, data: { key: '1', tuned: 'old' } }));
    const racing = writer({ interference: tunedBefore(verb) });
    await racing.apply(wanted, old, { ...how, ...as, over }, signal);
    expect(api.get('ConfigMap', 'a')?.['data']).toEqual({ key: '2', tuned: 'just now' });
    const record = api.get('ConfigMap', 'a')?.metadata.annotations?.[annotations.lastApplied] ?? '';
    expect(record).not.toContain('resourceVersion');
  });

  it('8.1.6: who writes all the time is no reason for a forced apply to delete the object', async () => {
    const old = api.put(withLastApplied({ ...target, data: { key: '1', tuned: 'old' } }));
    let turn = 0;
    const before = (call: string): void => {
      const live = api.get('ConfigMap', 'a');
      if (call.startsWith('patch') && live !== undefined) api.put({ ...live, data: { tuned: String((turn += 1)) } });
    };
    const busy = writer({ interference: { before } });
    await expect(busy.apply(wanted, old, { ...how, force: true, over }, signal)).rejects.toThrow('object was modified');
    expect(api.get('ConfigMap', 'a')?.metadata.uid).toBe(old.metadata.uid);
  });

  it('8.1.6: what somebody makes at that moment is respected too', async () => {
    const made = { ...target, data: { key: '1', tuned: 'just made' } };
    const before = (call: string): void => {
      if (call.startsWith('create') && api.get('ConfigMap', 'a') === undefined) api.put(made);
    };
    await writer({ interference: { before } }).apply(wanted, null, { ...how, over }, signal);
    expect(api.get('ConfigMap', 'a')?.['data']).toEqual({ key: '2', tuned: 'just made' });
  });
});

describe('8.1.3: a writer for dry runs', () => {
  const all: [string, (w: GuardedWriter) => Promise<unknown>][] = [
    ['apply', (w) => w.apply({ ...target, data: { key: '2' } }, api.get('ConfigMap', 'a')!, how, signal)],
    ['create', (w) => w.create({ ...target, metadata: { ...target.metadata, name: 'b' } }, false, signal)],
    ['replace', (w) => w.apply(target, null, { ...how, replace: true }, signal)],
    ['force', (w) => w.apply(target, null, { ...how, replace: true, force: true }, signal)],
    ['server side', (w) => w.apply(target, null, { ...how, serverSide: true }, signal)],
    ['delete', (w) => w.delete(api.get('ConfigMap', 'a')!, 'Foreground', signal)],
    ['patchMetadata', (w) => w.patchMetadata(api.get('ConfigMap', 'a')!, { finalizers: null }, signal)],
  ];
  it.each(all)('8.1.3: changes nothing, whatever it is told: %s', async (_name, act) => {
    const live = api.put(withLastApplied(target));
    await act(writer({ dryRun: true }));
    expect(api.calls.filter((call) => !call.startsWith('get')).every((call) => call.endsWith('(dry run)'))).toBe(true);
    expect([...api.objects.values()]).toEqual([live]);
  });
});

describe('every change', () => {
  const acts: [string, (w: GuardedWriter) => Promise<unknown>][] = [
    ['apply', (w) => w.apply(target, null, how, signal)],
    ['create', (w) => w.create(target, false, signal)],
    ['delete', (w) => w.delete(target, 'Foreground', signal)],
    ['patchMetadata', (w) => w.patchMetadata(target, { finalizers: null }, signal)],
  ];

  it.each(acts)('is refused when the cluster is no longer ours: %s', async (_name, act) => {
    await expect(act(writer({ owned: false }))).rejects.toBeInstanceOf(OwnershipLost);
    expect(api.calls).toEqual([]);
  });

  it.each(acts)('is refused when the project does not allow it: %s', async (_name, act) => {
    await expect(act(writer({ denied: 'not permitted' }))).rejects.toBeInstanceOf(PolicyDenied);
    expect(api.calls).toEqual([]);
  });
});
