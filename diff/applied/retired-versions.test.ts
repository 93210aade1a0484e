import { describe, expect, it } from '@jest/globals';
import type { Json } from '#base';
import type { KubeObject } from '#model';
import { managedEntry } from '../testing/managed-entry.ts';
import { adoptFields } from './adopt.ts';
import { hasOtherVersions, retiredVersions } from './retired-versions.ts';

const [old, now] = ['x.io/v1beta1', 'x.io/v1'];
const fields = (name: string): object => ({ 'f:spec': { [`f:${name}`]: {} } });
const object = (kind: string, apiVersion: string, ...managedFields: object[]): KubeObject =>
  ({ apiVersion, kind, metadata: { name: 'a', resourceVersion: '7', managedFields } }) as KubeObject;
const ours = managedEntry('argocd-controller', 'Apply', fields('a'), { apiVersion: old });
const theirs = (apiVersion: string, name: string): object =>
  managedEntry('operator', 'Update', fields(name), { apiVersion });
const after = (live: KubeObject, isRefused: boolean): Json | undefined => {
  const patch = adoptFields(live, [], { retired: [old], isRefused }) as { value: Json }[] | undefined;
  return patch?.[0]?.value;
};

describe('managed fields of API versions that are not served', () => {
  const live = object('Thing', now, ours, theirs(old, 'b'), theirs(now, 'c'));

  it('are those of other versions than the object, unless they are served', () => {
    expect(retiredVersions(live, () => false)).toEqual([old]);
    expect(retiredVersions(live, () => true)).toEqual([]);
    expect(hasOtherVersions(live)).toBe(true);
    expect(hasOtherVersions(object('Thing', now, theirs(now, 'c')))).toBe(false);
  });

  it('move to the version of the object, each owner with one entry, where the server refuses an apply', () => {
    const both = managedEntry('operator', 'Update', { 'f:spec': { 'f:b': {}, 'f:c': {} } }, { apiVersion: now });
    expect(after(live, true)).toEqual([{ ...ours, apiVersion: now }, both]);
    expect(after(live, false)).toBeUndefined();
  });

  it('move in a built-in kind, whose server forgets them', () => {
    const ingress = object('Ingress', 'networking.k8s.io/v1', ours);
    expect(after(ingress, false)).toEqual([{ ...ours, apiVersion: 'networking.k8s.io/v1' }]);
  });
});
