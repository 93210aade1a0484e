import { describe, expect, it } from '@jest/globals';
import type { Json } from '#base';
import type { KubeObject } from '#model';
import { managedEntry } from '../testing/managed-entry.ts';
import { displacedItemsPatch } from './client-side-apply.ts';

const fields = { 'f:spec': { 'f:config': { 'f:a': {}, 'f:b': { 'f:c': {} } }, 'f:kept': {} } };
const ours = managedEntry('argocd-controller', 'Apply', fields);
const theirs = managedEntry('operator', 'Update', { 'f:spec': { 'f:config': { 'f:x': {} } } });
const stored = { config: { a: '1', b: { c: '2' } }, kept: '3' };
const thing = (spec: object, ...managedFields: object[]): KubeObject =>
  ({ apiVersion: 'x.io/v1', kind: 'Thing', metadata: { name: 'a', managedFields }, spec }) as unknown as KubeObject;
const patchOf = (target: object, live: KubeObject): Json | undefined => displacedItemsPatch(thing(target), live)?.body;

describe('an empty map of a custom resource', () => {
  it('loses its members before a server-side apply, which would make it null', () => {
    const live = thing(stored, ours);
    expect(patchOf({ config: {}, kept: '3' }, live)).toEqual({ spec: { config: { a: null, b: null } } });
    expect(patchOf({ config: { a: '1', b: {} } }, live)).toEqual({ spec: { config: { b: { c: null } } } });
  });

  it('keeps them where others own one, or nobody owns one', () => {
    const more = { config: { ...stored.config, x: '4' } };
    expect(patchOf({ config: {} }, thing(more, ours, theirs))).toBeUndefined();
    expect(patchOf({ config: {} }, thing(more, ours))).toBeUndefined();
    expect(patchOf({ config: {} }, thing(stored))).toBeUndefined();
    const shared = managedEntry('operator', 'Update', { 'f:spec': { 'f:config': { 'f:a': {} } } });
    expect(patchOf({ config: {} }, thing(stored, ours, shared))).toBeUndefined();
  });

  it('needs no patch where it is empty, or not in Git', () => {
    expect(patchOf({ config: {} }, thing({ config: {} }, ours))).toBeUndefined();
    expect(patchOf({ kept: '3' }, thing(stored, ours))).toBeUndefined();
  });
});
