import { describe, expect, it } from '@jest/globals';
import type { ApiResource, ResourceResult } from '#model';
import { adviceFor } from './result-advice.ts';

const listed = ['get', 'list', 'watch'];

function resource(group: string, version: string, kind: string, verbs: readonly string[] = listed): ApiResource {
  const names = { resource: `${kind.toLowerCase()}s`, subresources: [], shortNames: [] };
  return { group, version, kind, verbs, namespaced: true, ...names };
}

function result(group: string, version: string, kind: string, message: string): ResourceResult {
  return { group, version, kind, namespace: 'shop', name: 'a', message };
}

const discovery = {
  preferred: [
    resource('', 'v1', 'Binding', ['create']),
    resource('first.example.com', 'v3', 'Gateway'),
    resource('networking.k8s.io', 'v1', 'Ingress'),
    resource('gateway.networking.k8s.io', 'v1', 'Gateway'),
  ],
};

const missing = 'the server could not find the requested resource';
const tooLong = 'ConfigMap "a" is invalid: metadata.annotations: Too long: must have at most 262144 bytes';

describe('advice of a result', () => {
  it.each([
    [
      'another version of the kind',
      result('networking.k8s.io', 'v1beta1', 'Ingress', missing),
      'The Kubernetes API could not find version "v1beta1" of networking.k8s.io/Ingress for requested resource shop/a. Version "v1" of networking.k8s.io/Ingress is installed on the destination cluster.',
    ],
    [
      'the kind in another group',
      result('extensions', 'v1beta1', 'Ingress', `failed to discover server resources: ${missing}`),
      'The Kubernetes API could not find version "v1beta1" of extensions/Ingress for requested resource shop/a. Version "v1" of networking.k8s.io/Ingress is installed on the destination cluster.',
    ],
    [
      'its own group before the first group of the server',
      result('gateway.networking.k8s.io', 'v1alpha2', 'Gateway', missing),
      'The Kubernetes API could not find version "v1alpha2" of gateway.networking.k8s.io/Gateway for requested resource shop/a. Version "v1" of gateway.networking.k8s.io/Gateway is installed on the destination cluster.',
    ],
    [
      'the first of several other groups',
      result('networking.istio.io', 'v1', 'Gateway', missing),
      'The Kubernetes API could not find version "v1" of networking.istio.io/Gateway for requested resource shop/a. Version "v3" of first.example.com/Gateway is installed on the destination cluster.',
    ],
    [
      'no kind of that name',
      result('', 'v1', 'PersistentVolume', missing),
      'The Kubernetes API could not find /PersistentVolume for requested resource shop/a. Make sure the "PersistentVolume" CRD is installed on the destination cluster.',
    ],
    [
      'a kind that cannot be listed',
      result('example.com', 'v1', 'Binding', missing),
      'The Kubernetes API could not find example.com/Binding for requested resource shop/a. Make sure the "Binding" CRD is installed on the destination cluster.',
    ],
    [
      'an object that is too large for the annotation',
      result('', 'v1', 'ConfigMap', tooLong),
      `${tooLong} \n -Additional Info: This error usually means that you are trying to add a large resource on client side. Consider using Server-side apply or syncing with replace enabled. Note: Syncing with Replace enabled is potentially destructive as it may cause resource deletion and re-creation.`,
    ],
  ])('%s', (_title, item, message) => {
    expect(adviceFor(item, discovery)).toEqual({ message });
    expect({ message, ...adviceFor({ ...item, message }, discovery) }).toEqual({ message });
  });

  it('leaves other messages alone', () => {
    expect(adviceFor(result('apps', 'v1', 'Deployment', 'deployment.apps/a created'), discovery)).toEqual({});
    expect(adviceFor({ ...result('', 'v1', 'Pod', 'x'), message: undefined } as never, discovery)).toEqual({});
  });
});
