import { describe, expect, it } from '@jest/globals';
import type { Json } from '#base';
import type { KubeObject } from '#model';
import { managedEntry } from '../testing/managed-entry.ts';
import { adoptFields, clientSideManagers, lacksManagedFields } from './adopt.ts';

const kubectl = 'kubectl-client-side-apply';
const ours = 'argocd-controller';
const object = (...managedFields: object[]): KubeObject =>
  ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', resourceVersion: '7', managedFields } }) as KubeObject;
const data = (...keys: string[]): object => ({ 'f:data': Object.fromEntries(['.', ...keys].map((key) => [key, {}])) });
const after = (live: KubeObject, from = kubectl): Json | undefined => {
  const patch = adoptFields(live, [from]) as { value: Json }[] | undefined;
  return patch?.[0]?.value;
};

describe('adoptFields and clientSideManagers', () => {
  it('turns the entry into ours when we have none', () => {
    const other = managedEntry('hpa', 'Update', data('f:c'));
    const live = object(managedEntry(kubectl, 'Update', data('f:a'), { time: 't' }), other);
    expect(adoptFields(live, [kubectl])).toEqual([
      {
        op: 'add',
        path: '/metadata/managedFields',
        value: [managedEntry(ours, 'Apply', data('f:a'), { time: 't' }), other],
      },
      { op: 'replace', path: '/metadata/resourceVersion', value: '7' },
    ]);
  });

  it('adds the fields to our entry', () => {
    const live = object(
      managedEntry(kubectl, 'Update', {
        ...data('f:a', 'f:b'),
        'f:list': { 'k:{"name":"x"}': { '.': {}, 'f:name': {} } },
      }),
      managedEntry(ours, 'Apply', data('f:b', 'f:c')),
    );
    expect(after(live)).toEqual([
      managedEntry(ours, 'Apply', {
        ...data('f:a', 'f:b', 'f:c'),
        'f:list': { 'k:{"name":"x"}': { '.': {}, 'f:name': {} } },
      }),
    ]);
  });

  it('drops fields at another API version', () => {
    const live = object(
      managedEntry(kubectl, 'Update', data('f:a'), { apiVersion: 'v0' }),
      managedEntry(ours, 'Apply', data('f:c')),
    );
    expect(after(live)).toEqual([managedEntry(ours, 'Apply', data('f:c'))]);
  });

  it('keeps other managers, operations and subresources', () => {
    const status = managedEntry(kubectl, 'Update', data('f:s'), { subresource: 'status' });
    const applied = managedEntry(kubectl, 'Apply', data('f:x'));
    expect(after(object(status, applied, managedEntry('other', 'Update', data('f:y'))))).toBeUndefined();
    expect(after(object(status, managedEntry(kubectl, 'Update', data('f:a'))))).toEqual([
      status,
      managedEntry(ours, 'Apply', data('f:a')),
    ]);
    expect(after(object(managedEntry('me', 'Update', data('f:a'))), 'me')).toEqual([
      managedEntry(ours, 'Apply', data('f:a')),
    ]);
    expect(after({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } })).toBeUndefined();
  });

  it('leaves to before-first-apply only what we do not apply', () => {
    const nobody = 'before-first-apply';
    const own = managedEntry(ours, 'Apply', data('f:a', 'f:c'));
    expect(after(object(own, managedEntry(nobody, 'Update', { ...data('f:a', 'f:b'), 'f:x': {} })))).toEqual([
      own,
      managedEntry(nobody, 'Update', { 'f:data': { 'f:b': {} }, 'f:x': {} }),
    ]);
    expect(after(object(own, managedEntry(nobody, 'Update', { 'f:data': { 'f:a': {} } })))).toEqual([own]);
    expect(after(object(own, managedEntry(nobody, 'Update', { 'f:data': { 'f:b': {} } })))).toBeUndefined();
    expect(adoptFields(object(own, managedEntry(nobody, 'Update', data('f:a'))), [])).toBeUndefined();
  });

  it('takes what last-applied says of an object without managed fields', () => {
    const note = 'kubectl.kubernetes.io/last-applied-configuration';
    const stored = (applied: string): KubeObject => ({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'a', resourceVersion: '7', annotations: { [note]: applied, other: 'x' } },
      spec: { ports: [{ port: 80, protocol: 'TCP' }], clusterIP: '10.0.0.1' },
    });
    const applied = { metadata: { name: 'a', labels: { l: '1' } }, spec: { ports: [{ port: 80 }] } };
    const text = JSON.stringify({ apiVersion: 'v1', kind: 'Service', ...applied });
    const port = { '.': {}, 'f:port': {} };
    expect(after(stored(text))).toEqual([
      managedEntry(ours, 'Apply', {
        'f:metadata': { 'f:labels': { 'f:l': {} }, 'f:annotations': { [`f:${note}`]: {} } },
        'f:spec': { 'f:ports': { 'k:{"port":80,"protocol":"TCP"}': port } },
      }),
    ]);
    expect(adoptFields(stored(text), [])).toBeUndefined();
    expect(after(stored('{'))).toBeUndefined();
    expect(after(stored(text.replace('"a"', '"b"')))).toBeUndefined();
  });

  it('moves what we applied as stringData of a Secret to data, where it is stored', () => {
    const secret = (...managedFields: object[]): KubeObject => ({ ...object(...managedFields), kind: 'Secret' });
    const written = { 'f:stringData': { 'f:a': {} }, 'f:data': { 'f:b': {} } };
    const moved = [managedEntry(ours, 'Apply', { 'f:data': { 'f:b': {}, 'f:a': {} } })];
    expect(after(secret(managedEntry(ours, 'Apply', written)))).toEqual(moved);
    expect(after(secret(managedEntry(kubectl, 'Update', written)))).toEqual(moved);
    expect(after(object(managedEntry(ours, 'Apply', written)))).toBeUndefined();
  });

  it('needs a published schema only for a custom resource without managed fields', () => {
    const custom = (...managedFields: object[]): KubeObject => ({ ...object(...managedFields), apiVersion: 'x.io/v1' });
    expect([custom(), custom(managedEntry(kubectl, 'Update', data('a'))), object()].map(lacksManagedFields)).toEqual([
      ...[true, false, false],
    ]);
  });

  it('never takes over before-first-apply, which owns what others set', () => {
    const note = { 'f:metadata': { 'f:annotations': { 'f:kubectl.kubernetes.io/last-applied-configuration': {} } } };
    expect(clientSideManagers(object(managedEntry('before-first-apply', 'Update', note)))).toEqual([]);
  });

  it('finds the managers of the last-applied annotation', () => {
    const note = { 'f:metadata': { 'f:annotations': { 'f:kubectl.kubernetes.io/last-applied-configuration': {} } } };
    expect(
      clientSideManagers(
        object(
          managedEntry(ours, 'Update', note),
          managedEntry(ours, 'Update', note, { apiVersion: 'v0' }),
          managedEntry('a', 'Apply', note),
          managedEntry('b', 'Update', data('f:a')),
          managedEntry('c', 'Update', note, { subresource: 'status' }),
        ),
      ),
    ).toEqual([ours]);
  });
});
