import { describe, expect, it } from '@jest/globals';
import { fingerprint } from '#diff';
import { defaultSettings } from '#model';
import type { KubeObject, Settings } from '#model';
import { nodeOf, object } from '../testing/nodes.ts';
import { createNodeReader, isNoopForApps } from './stored-node.ts';

describe('createNodeReader', () => {
  const withUpdates = (over: Partial<Settings>): Settings => ({ ...defaultSettings, ...over });

  it('keeps bodies of tracked roots only', () => {
    expect(nodeOf(object({ kind: 'ConfigMap', name: 'a', app: 'shop' })).body?.parse().metadata.name).toBe('a');
    expect(nodeOf(object({ kind: 'ConfigMap', name: 'a' })).body).toBeUndefined();
    const owners = [{ kind: 'Pod', name: 'a', uid: 'uid-a' }];
    const copied = nodeOf(object({ kind: 'Pod', name: 'b', owners, app: 'shop', original: 'a' }));
    expect([copied.body, copied.app]).toEqual([undefined, undefined]);
    // Another controller has added an owner to what the Application applied.
    const adopted = nodeOf(object({ kind: 'Pod', name: 'b', owners, app: 'shop' }));
    expect([adopted.body?.parse().metadata.name, adopted.app, adopted.isRoot]).toEqual(['b', 'shop', true]);
    const claim = nodeOf(object({ kind: 'PersistentVolumeClaim', name: 'data-b-0', owners, app: 'shop' }));
    expect(claim.isRoot).toBe(false);
  });

  it('reads distinct images of Pods, and whether an object is being deleted', () => {
    const spec = { initContainers: [{ image: 'i' }], containers: [{ image: 'a' }, { image: 'i' }, {}] };
    const node = nodeOf(object({ kind: 'Pod', name: 'p', rest: { spec } }));
    expect(node.images).toEqual(['i', 'a']);
    const doomed = object({ kind: 'ConfigMap', name: 'c' });
    expect(
      nodeOf({ ...doomed, metadata: { ...doomed.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }).deleting,
    ).toBe(true);
  });

  it('knows when another client than this controller last changed a tracked object, its status aside', () => {
    const secondsOf = (managedFields: readonly object[], app = 'shop'): number => {
      const tracked = object({ kind: 'ConfigMap', name: 'a', ...(app === '' ? {} : { app }) });
      const metadata = { ...tracked.metadata, managedFields };
      return nodeOf({ ...tracked, metadata } as KubeObject).foreignEditSeconds;
    };
    const ours = { manager: 'argocd-controller', operation: 'Apply', time: '2026-01-01T00:00:50Z' };
    const edit = { manager: 'kubectl-edit', operation: 'Update', time: '2026-01-01T00:00:20Z' };
    const older = { ...edit, manager: 'helm', time: '2026-01-01T00:00:10Z' };
    const status = { ...edit, subresource: 'status', time: '2026-01-01T00:00:40Z' };
    const editSeconds = Date.parse(edit.time) / 1000;
    expect(secondsOf([ours, older, edit, status])).toBe(editSeconds);
    expect(secondsOf([ours, status])).toBe(0);
    expect(secondsOf([{ ...edit, time: 'yesterday' }])).toBe(0);
    expect(secondsOf([edit], '')).toBe(0);
  });

  it('computes fingerprints for tracked or annotated objects, unless disabled', () => {
    const asked = object({ kind: 'ConfigMap', name: 'c' });
    const annotated = {
      ...asked,
      metadata: { ...asked.metadata, annotations: { 'argocd.argoproj.io/ignore-resource-updates': 'true' } },
    };
    const off = createNodeReader(withUpdates({ ignoreResourceUpdatesEnabled: false }), () => true);
    expect(nodeOf(asked).fingerprint).toBeUndefined();
    expect(nodeOf(annotated).fingerprint).toBe(fingerprint(annotated, defaultSettings));
    expect(off(annotated).fingerprint).toBeUndefined();
    const app = object({ kind: 'Application', apiVersion: 'argoproj.io/v1alpha1', name: 'a' });
    expect(nodeOf(app).fingerprint).toBe(fingerprint(app, defaultSettings));
  });

  it('keeps objects whole that an Application tracks or a reader has asked for', () => {
    const asked = object({ kind: 'ConfigMap', name: 'c' });
    const other = object({ kind: 'ConfigMap', name: 'd' });
    const read = createNodeReader(defaultSettings, () => true, { keepsWhole: (key) => key === nodeOf(asked).key });
    expect(read(asked).body?.parse()).toEqual(asked);
    expect([nodeOf(asked).body, read(other).body]).toEqual([undefined, undefined]);
    const tracked = object({ kind: 'ConfigMap', name: 'd', app: 'shop' });
    expect(read(tracked).body?.parse()).toEqual(tracked);
  });

  it('treats an update as a no-op only with equal health, identity and fingerprints', () => {
    const one = nodeOf(object({ kind: 'ConfigMap', name: 'c', app: 'shop' }));
    const two = nodeOf(object({ kind: 'ConfigMap', name: 'c', app: 'shop' }));
    expect(isNoopForApps(one, two)).toBe(true);
    expect(isNoopForApps(one, Object.assign(two, { uid: 'other' }))).toBe(false);
    const sick = Object.assign(nodeOf(object({ kind: 'ConfigMap', name: 'c', app: 'shop' })), {
      health: { status: 'Degraded' },
    });
    expect(isNoopForApps(one, sick as typeof one)).toBe(false);
    const free = nodeOf(object({ kind: 'ConfigMap', name: 'c' }));
    expect(isNoopForApps(free, free)).toBe(false);
  });
});
