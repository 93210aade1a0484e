import { describe, expect, it } from '@jest/globals';
import type { KubeObject, ResourceKey } from '#model';
import { pairResources } from './reconcile.ts';

describe('pairResources', () => {
  it('keeps one of two live objects with the same UID: the one with a target', () => {
    const twin = (apiVersion: string): KubeObject => ({
      apiVersion,
      kind: 'Ingress',
      metadata: { name: 'web', namespace: 'n', uid: 'u' },
    });
    const live = new Map([
      ['extensions/Ingress/n/web', twin('extensions/v1beta1')],
      ['networking.k8s.io/Ingress/n/web', twin('networking.k8s.io/v1')],
    ]) as unknown as Parameters<typeof pairResources>[1];
    const target: KubeObject = { apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', metadata: { name: 'web' } };
    const { pairs } = pairResources([target], live, 'n', () => true);
    expect(pairs).toEqual([{ target, live: twin('networking.k8s.io/v1') }]);
  });

  it('finds the live object of a manifest with an empty namespace in the destination', () => {
    const live = new Map([
      ['/ConfigMap/n/c', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c', namespace: 'n' } }],
    ]) as unknown as Parameters<typeof pairResources>[1];
    const target: KubeObject = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c', namespace: '' } };
    const { pairs } = pairResources([target], live, 'n', () => true);
    expect(pairs).toEqual([{ target, live: live.get('/ConfigMap/n/c' as ResourceKey) }]);
  });

  it('tries both scopes for a kind that the cluster does not know', () => {
    const live = new Map([
      ['x/Thing//t', { apiVersion: 'x/v1', kind: 'Thing', metadata: { name: 't' } }],
    ]) as unknown as Parameters<typeof pairResources>[1];
    const target: KubeObject = { apiVersion: 'x/v1', kind: 'Thing', metadata: { name: 't' } };
    expect(pairResources([target], live, 'n', () => undefined).pairs).toEqual([
      { target, live: live.get('x/Thing//t' as ResourceKey) },
    ]);
    expect(pairResources([target], live, 'n', () => true).pairs).toHaveLength(2);
  });
});
