import { describe, expect, it } from '@jest/globals';
import type { Json } from '#base';
import type { KubeObject } from '#model';
import { adoptFields, clientSideManagers } from './adopt.ts';

const kubectl = 'kubectl-client-side-apply';
const ours = 'argocd-controller';
const entry = (manager: string, operation: string, fieldsV1: object, over: object = {}): object => ({
  manager,
  operation,
  apiVersion: 'v1',
  fieldsType: 'FieldsV1',
  fieldsV1,
  ...over,
});
const object = (...managedFields: object[]): KubeObject =>
  ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', resourceVersion: '7', managedFields } }) as KubeObject;
const data = (...keys: string[]): object => ({ 'f:data': Object.fromEntries(['.', ...keys].map((key) => [key, {}])) });
const after = (live: KubeObject, from = kubectl): Json | undefined => {
  const patch = adoptFields(live, from, ours) as { value: Json }[] | undefined;
  return patch?.[0]?.value;
};

describe('12.1: fields of client-side apply that become those of server-side apply', () => {
  it('12.1: the entry becomes ours when we have none', () => {
    const other = entry('hpa', 'Update', data('f:c'));
    const live = object(entry(kubectl, 'Update', data('f:a'), { time: 't' }), other);
    expect(adoptFields(live, kubectl, ours)).toEqual([
      {
        op: 'replace',
        path: '/metadata/managedFields',
        value: [entry(ours, 'Apply', data('f:a'), { time: 't' }), other],
      },
      { op: 'replace', path: '/metadata/resourceVersion', value: '7' },
    ]);
  });

  it('12.1: its fields are added to ours when we have one', () => {
    const live = object(
      entry(kubectl, 'Update', { ...data('f:a', 'f:b'), 'f:list': { 'k:{"name":"x"}': { '.': {}, 'f:name': {} } } }),
      entry(ours, 'Apply', data('f:b', 'f:c')),
    );
    expect(after(live)).toEqual([
      entry(ours, 'Apply', { ...data('f:a', 'f:b', 'f:c'), 'f:list': { 'k:{"name":"x"}': { '.': {}, 'f:name': {} } } }),
    ]);
  });

  it('12.1: fields at another version are given up, not mixed in', () => {
    const live = object(entry(kubectl, 'Update', data('f:a'), { apiVersion: 'v0' }), entry(ours, 'Apply', data('f:c')));
    expect(after(live)).toEqual([entry(ours, 'Apply', data('f:c'))]);
  });

  it('12.1: others, other operations and subresources are left alone', () => {
    const status = entry(kubectl, 'Update', data('f:s'), { subresource: 'status' });
    const applied = entry(kubectl, 'Apply', data('f:x'));
    expect(after(object(status, applied, entry('other', 'Update', data('f:y'))))).toBeUndefined();
    expect(after(object(status, entry(kubectl, 'Update', data('f:a'))))).toEqual([
      status,
      entry(ours, 'Apply', data('f:a')),
    ]);
    expect(after(object(entry('me', 'Update', data('f:a'))), 'me')).toEqual([entry(ours, 'Apply', data('f:a'))]);
    expect(after({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } })).toBeUndefined();
  });

  it("12.1: who holds kubectl's note", () => {
    const note = { 'f:metadata': { 'f:annotations': { 'f:kubectl.kubernetes.io/last-applied-configuration': {} } } };
    expect(
      clientSideManagers(
        object(
          entry(ours, 'Update', note),
          entry(ours, 'Update', note, { apiVersion: 'v0' }),
          entry('a', 'Apply', note),
          entry('b', 'Update', data('f:a')),
          entry('c', 'Update', note, { subresource: 'status' }),
        ),
      ),
    ).toEqual([ours]);
  });
});
