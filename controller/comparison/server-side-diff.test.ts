import { expect, it } from '@jest/globals';
import { newAbortController } from '#base';
import { keyOf } from '#model';
import type { ApiResource, AppKey, KubeObject } from '#model';
import { FakeClock } from '#support';
import { KubeApiError } from '#kube';
import type { ApiDiscovery, ClusterClients, KubeClient } from '#kube';
import type { LiveCluster } from '#live';
import { SlotLoan } from '#queues';
import { WriteSlots } from '../write/write-slots.ts';
import { DryRuns } from './server-side-diff.ts';

const server = 'https://dest';
const resource = {
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  namespaced: true,
  verbs: ['get', 'update'],
} as unknown as ApiResource;
const configMap = (data: object, metadata: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'one', namespace: 'apps', ...metadata },
  data,
});
const target = configMap({ key: '2' });
const live = configMap({ key: '1' }, { resourceVersion: '7', uid: 'u' });

const conflict = new KubeApiError({ code: 409, reason: 'Conflict', message: 'object was modified' }, 'fake');
const versionless = new KubeApiError(
  { code: 422, reason: 'Invalid', message: 'metadata.resourceVersion: must be specified for an update' },
  'fake',
);

/** The versions of the replacements that the server got, and the outcome. */
async function replaced(refuse: (version: string | undefined, attempt: number) => Error | undefined) {
  const versions: (string | undefined)[] = [];
  const client = {
    replace: (_resource: ApiResource, sent: KubeObject) => {
      const { resourceVersion } = sent.metadata;
      versions.push(resourceVersion);
      const error = refuse(resourceVersion, versions.length);
      return error === undefined ? Promise.resolve(sent) : Promise.reject(error);
    },
    get: () => Promise.resolve(configMap({ key: '1' }, { resourceVersion: '8', uid: 'u' })),
  } as unknown as KubeClient;
  const clock = new FakeClock();
  const clients = { of: () => client } as unknown as ClusterClients;
  const runs = new DryRuns({ clients, known: new Map(), slots: new WriteSlots(clock, 0) });
  const cluster = {
    server,
    discovery: () => ({ preferred: [resource], served: [resource] }) as unknown as ApiDiscovery,
  };
  const request = {
    key: 'argocd/demo' as AppKey,
    cluster: cluster as unknown as LiveCluster,
    user: '',
    useKnown: false,
    loan: new SlotLoan(undefined, clock),
    schemas: undefined,
  };
  const pair = { key: keyOf(live), id: undefined, target, live, method: 'replace' } as const;
  const outcomes = await runs.outcomes(request, [pair], newAbortController().signal);
  return { versions, outcome: outcomes.get(keyOf(live)) };
}

it('replaces whatever version is stored, as another writer may have stored a status meanwhile', async () => {
  const { versions, outcome } = await replaced((version) => (version === undefined ? undefined : conflict));
  expect(versions).toEqual([undefined]);
  expect(outcome).toEqual({ predicted: configMap({ key: '2' }, { uid: 'u' }) });
});

it('names the current version, not that of the cache, to a server that requires one', async () => {
  const { versions, outcome } = await replaced((version) =>
    version === undefined ? versionless : version === '8' ? undefined : conflict,
  );
  expect(versions).toEqual([undefined, '8']);
  expect(outcome).toHaveProperty('predicted');
});

it('ends with the refusal of an object that changes again and again', async () => {
  const { versions, outcome } = await replaced((version) => (version === undefined ? versionless : conflict));
  expect(versions).toEqual([undefined, '8', '8']);
  expect(outcome).toEqual({ refused: 'object was modified', final: false });
});
