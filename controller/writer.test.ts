import { beforeEach, describe, expect, it } from '@jest/globals';
import { Limiter, OwnershipLost } from '#base';
import { apiResource, KubeApiError } from '#kube';
import type { LiveCluster } from '#live';
import type { KubeObject } from '#model';
import type { ApplyHow } from '#sync';
import { FakeClock } from '#support';
import { PolicyDenied, UnknownKind } from './errors.ts';
import { FakeApi } from './testing/fake-api.ts';
import type { Interference } from './testing/fake-api.ts';
import { GuardedWriter, withLastApplied } from './writer.ts';

const signal = new AbortController().signal;
const kinds = [
  apiResource('', 'v1', 'ConfigMap', 'configmaps', true),
  apiResource('', 'v1', 'Namespace', 'namespaces', false),
  apiResource('rbac.authorization.k8s.io', 'v1', 'RoleBinding', 'rolebindings', true),
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

function writer(over: { interference?: Interference; denied?: string; owned?: boolean } = {}): GuardedWriter {
  const observed: KubeObject[] = [];
  return new GuardedWriter({
    cluster: {
      surface: () => api.surface,
      observe: (object: KubeObject) => observed.push(object),
    } as unknown as LiveCluster,
    client: api.client(over.interference),
    fenced: (inner, send) => (over.owned === false ? Promise.reject(new OwnershipLost('cluster')) : send(inner)),
    denied: () => over.denied,
    limiter: new Limiter(2),
    clock,
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
    expect(api.calls).toEqual(['delete ConfigMap a', 'get ConfigMap a', 'create ConfigMap a']);
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
    expect(api.calls[0]).toBe('delete RoleBinding b');
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

  it('refuses kinds that are not served, and objects without a name', async () => {
    const gadget = { ...target, apiVersion: 'example.com/v1', kind: 'Gadget' };
    await expect(writer().apply(gadget, null, how, signal)).rejects.toBeInstanceOf(UnknownKind);
    const nameless = { ...target, metadata: { namespace: 'apps' } };
    await expect(writer().apply(nameless, null, how, signal)).rejects.toThrow('resource name may not be empty');
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
