import { expect, it } from '@jest/globals';
import { KubeSizeError } from '#kube';
import type { KubeClient } from '#kube';
import type { ObjectName } from '#model';
import { managedObjects } from './managed-objects.ts';
import type { ManagedSources } from './managed-objects.ts';

const never = new AbortController().signal;
const configMap: ObjectName['metadata'] = { namespace: 'ns' };
const targets = Array.from({ length: 500 }, (_, i): ObjectName => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { ...configMap, name: `a${i}` },
}));

/** Sources with an empty cache that is not fresh, so that each target is read. */
function sourcesWith(get: KubeClient['get']): ManagedSources {
  const resource = { group: '', version: 'v1', kind: 'ConfigMap', plural: 'configmaps', namespaced: true };
  const resources = [{ ...resource, verbs: ['get', 'list', 'watch'] }];
  const discovery = { preferred: resources, served: resources, failedGroups: new Map() };
  return {
    cluster: { namespaces: [], clusterResources: true },
    client: { get },
    discovery,
    store: { ofApp: () => [], get: () => undefined, log: { version: 1 } },
    bodies: {},
    isFresh: () => false,
    isBlind: () => false,
    appOf: () => undefined,
    limitBytes: 1e9,
  } as unknown as ManagedSources;
}

it('stops reading a kind object by object when several of its objects are too large', async () => {
  let reads = 0;
  const get = (): Promise<never> => {
    reads += 1;
    return Promise.reject(KubeSizeError.of('object', 'GET configmaps', 30_000_000, 8_000_000));
  };
  const { objects, unread } = await managedObjects({ app: 'shop', targets }, sourcesWith(get), never);
  expect(objects.size).toBe(0);
  expect(unread).toHaveLength(targets.length);
  // Reads in flight when the last counted one fails still complete, but not one read per target.
  expect(reads).toBeGreaterThan(7);
  expect(reads).toBeLessThan(40);
});

it('reads the other objects of a kind when a few are too large', async () => {
  const get: KubeClient['get'] = (_resource, { name }) =>
    name.endsWith('00')
      ? Promise.reject(KubeSizeError.of('object', 'GET configmaps', 30_000_000, 8_000_000))
      : Promise.resolve({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'ns', name } });
  const { objects, unread } = await managedObjects({ app: 'shop', targets }, sourcesWith(get), never);
  expect([objects.size, unread.length]).toEqual([496, 4]);
});
