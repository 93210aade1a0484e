import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '#base';
import type { KubeClient } from '#kube';
import type { KubeObject } from '#model';
import type { SyncMethod } from '../../controller/testing/index.ts';
import type { FirstSync } from '../removal/first-sync.ts';
import { clientOf, startServers } from './support/index.ts';
import type { Servers } from './support/index.ts';
import { SyncedObject } from './synced-object.ts';
import type { Manifest } from './synced-object.ts';

// Reports of users of kubectl, Helm, Flux and Argo CD; each title has the number of its issue.
const { signal } = new AbortController();
let world: Servers<'hub'>;
let client: KubeClient;
let count = 0;

beforeAll(async () => {
  world = await startServers({ names: ['hub'] });
  client = clientOf(world.servers.hub);
  await world.servers.hub.api.create('/api/v1/namespaces', { metadata: { name: 'cases' } });
});
afterAll(async () => {
  await client.close();
  await world.close();
});

/** A manifest of the namespace `cases`; each case has its own name. */
function manifest(apiVersion: string, kind: string, rest: object): Manifest {
  const [group = '', version = ''] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
  const isCluster = kind === 'PersistentVolume' || group === 'admissionregistration.k8s.io';
  return () => ({
    apiVersion: group === '' ? version : apiVersion,
    kind,
    metadata: { name: `report-${count}`, ...(isCluster ? {} : { namespace: 'cases' }) },
    ...rest,
  });
}
const labels = { app: 'web' };
function pods(container: object, kind = 'Deployment', spec: object = {}, pod: object = {}): Manifest {
  const containers = [{ name: 'web', image: 'web:1', ...container }];
  const template = { metadata: { labels }, spec: { containers, ...pod } };
  return manifest('apps/v1', kind, { spec: { selector: { matchLabels: labels }, template, ...spec } });
}
const service = (ports: readonly object[], type = 'ClusterIP'): Manifest =>
  manifest('v1', 'Service', { spec: { type, selector: labels, ports } });
const config = (data: object): Manifest => manifest('v1', 'ConfigMap', { data });

const begin = (method: SyncMethod): Promise<SyncedObject> => {
  count += 1;
  return SyncedObject.begin(client, method, signal);
};
const methods: readonly SyncMethod[] = ['client', 'server', 'replace', 'force'];

describe.each(methods)('applied with %s', (method) => {
  const change = async (first: FirstSync, before: Manifest, after: Manifest): Promise<KubeObject> => {
    const one = await begin(method);
    await one.first(first, before);
    return one.changed(after);
  };

  it('a port of one number and another protocol is added and removed (kubernetes 39188, 105610)', async () => {
    const [tcp, udp] = ['TCP', 'UDP'].map((protocol) => ({
      name: `dns-${protocol.toLowerCase()}`,
      port: 53,
      protocol,
    }));
    const one = await begin(method);
    await one.first(method, service([tcp!]));
    expect((await one.changed(service([tcp!, udp!])))['spec']).toMatchObject({ ports: [tcp, udp] });
    const { ports } = (await one.changed(service([udp!])))['spec'] as { readonly ports: readonly object[] };
    expect(ports).toEqual([expect.objectContaining(udp!)]);
  });

  it('the arguments of a container are removed (kubernetes 22342)', async () => {
    const stored = await change(method, pods({ args: ['--verbose'] }), pods({}));
    expect(JSON.stringify(stored['spec'])).not.toContain('--verbose');
  });

  it('a renamed container of a StatefulSet replaces the old one after server-side apply (argo-cd 19994)', async () => {
    const set = (name: string): Manifest => pods({ name }, 'StatefulSet', { replicas: 0, serviceName: 'web' });
    const stored = JSON.stringify((await change('server', set('first'), set('second')))['spec']);
    expect([stored.includes('"first"'), stored.includes('"second"')]).toEqual([false, true]);
  });

  it('the claim that a PersistentVolume was bound to keeps its uid and version (argo-cd 16058)', async () => {
    const volume = (storage: string): Manifest =>
      manifest('v1', 'PersistentVolume', {
        spec: {
          capacity: { storage },
          accessModes: ['ReadWriteMany'],
          nfs: { server: '192.0.2.1', path: '/' },
          claimRef: { namespace: 'cases', name: 'claim' },
        },
      });
    const one = await begin(method);
    await one.first(method, volume('1Gi'));
    const bound = { claimRef: { uid: '94d7b94e-6f11-4aff-9655-806066999cca', resourceVersion: '12' } };
    await one.patch('kube-controller-manager', { spec: bound });
    expect(await one.statuses(volume('1Gi'))).toEqual(['Synced', 'Synced']);
    const stored = await one.settled(volume('1Gi'));
    // A replacement is sent as it is in Git; the controller then adds both again.
    if (method !== 'replace') expect(stored['spec']).toMatchObject(bound);
  });

  it('an environment variable whose value was edited takes it from elsewhere, or is refused with a reason (helm 8994)', async () => {
    const fieldRef = { apiVersion: 'v1', fieldPath: 'metadata.name' };
    const [plain, taken] = [{ value: 'a' }, { valueFrom: { fieldRef } }].map((one) =>
      pods({ env: [{ name: 'A', ...one }] }),
    );
    const one = await begin(method);
    await one.first(method, plain!);
    const edited = { containers: [{ name: 'web', env: [{ name: 'A', value: 'by hand' }] }] };
    await one.patch('kubectl-edit', { spec: { template: { spec: edited } } }, 'strategic');
    expect(await one.statuses(taken!)).toEqual(['OutOfSync', 'OutOfSync']);
    // The edit is another manager's: a server-side apply leaves it beside the new source.
    if (method === 'server')
      return expect(one.sync(taken!)).rejects.toThrow(/may not be specified when `value` is not/);
    const stored = JSON.stringify((await one.settled(taken!))['spec']);
    expect([stored.includes('metadata.name'), stored.includes('by hand')]).toEqual([true, false]);
  });

  it('null for a value that the server allocates or defaults comes to rest (ai-platform 7, config-sync 1198)', async () => {
    const one = await begin(method);
    await one.first(method, service([{ port: 80 }], 'NodePort'));
    await one.settled(service([{ port: 80, nodePort: null }], 'NodePort'));
    await one.settled(service([{ port: 80, nodePort: null, protocol: null }], 'NodePort'));
    const spec = { replicas: 0, serviceName: 'web', volumeClaimTemplates: null };
    const set = await begin(method);
    await set.first(method, pods({}, 'StatefulSet', spec));
    expect(await set.statuses(pods({}, 'StatefulSet', spec))).toEqual(['Synced', 'Synced']);
    const recreate = { strategy: { type: 'Recreate', rollingUpdate: null } };
    const stored = await change(method, pods({}), pods({}, 'Deployment', recreate));
    expect(stored['spec']).toMatchObject({ strategy: { type: 'Recreate' } });
  });

  it('null in a map of strings is what the server stores for it', async () => {
    const one = await begin(method);
    await one.first(method, config({ a: '1', zz: null }));
    expect(await one.statuses(config({ a: '1', zz: null }))).toEqual(['Synced', 'Synced']);
    await one.settled(config({ a: '2', zz: null }));
  });

  it('what kubectl create made stays, and is no difference: nothing says that we applied it (kubernetes 119586)', async () => {
    const one = await begin(method);
    await one.first('Helm', config({ a: '1', b: '2' }));
    await one.settled(config({ a: '1' }));
    expect(one.live['data']).toEqual(method === 'replace' ? { a: '1' } : { a: '1', b: '2' });
  });

  it('a manifest copied from the cluster, with managed fields and a version, is applied (argo-cd 28585)', async () => {
    const one = await begin(method);
    await one.first(method, config({ a: '1', b: '2' }));
    const { managedFields, uid } = one.live.metadata;
    expect(managedFields?.length).toBeGreaterThan(0);
    const copied = (data: object): Manifest => {
      const plain = config(data);
      return () => ({ ...plain(), metadata: { ...plain().metadata, managedFields, uid } as KubeObject['metadata'] });
    };
    expect((await one.changed(copied({ a: '1' })))['data']).toEqual({ a: '1' });
  });

  it('an item of which two entries of Argo CD own a part is removed (argo-cd 20815)', async () => {
    const [both, less] = [['A', 'B'], ['A']].map((names) => pods({ env: names.map((name) => ({ name, value: 'x' })) }));
    const one = await begin(method);
    await one.first('Argo CD Replace', both!);
    const spec = both!()['spec'] as JsonObject;
    await one.patch('argocd-controller', { spec }, 'apply');
    expect(JSON.stringify((await one.changed(less!))['spec'])).not.toContain('"B"');
  });

  it('what kubectl applied is removed after a change by us and another switch (argo-cd 16813, kpt 3592)', async () => {
    const one = await begin(method);
    await one.first('kubectl apply', config({ a: '1', b: '2', c: '3' }));
    await one.changed(config({ a: '2', b: '2', c: '3' }));
    await one.changed(config({ a: '2', b: '2' }));
    expect((await one.changed(config({ a: '2' })))['data']).toEqual({ a: '2' });
  });

  it('a port that Helm created too stays, and one that is ours goes (argo-cd 18251)', async () => {
    const [http, old, ours] = [80, 9999, 7777].map((port) => ({ name: `p${port}`, port }));
    const one = await begin(method);
    await one.first('Helm', service([http!, old!]));
    await one.sync(service([http!, old!, ours!]));
    await one.sync(service([http!]));
    expect(await one.statuses(service([http!]))).toEqual(['Synced', 'Synced']);
    const { ports } = one.live['spec'] as { readonly ports: readonly { readonly port: number }[] };
    expect(ports.map(({ port }) => port)).not.toContain(7777);
  });

  it('what we replaced is removed after kubectl applied less, or anyone rewrote its note (kubernetes/website 21640)', async () => {
    const note = 'kubectl.kubernetes.io/last-applied-configuration';
    for (const isEmpty of [true, false]) {
      const one = await begin(method);
      await one.first('Argo CD Replace', config({ a: '1', b: '2' }));
      const text = isEmpty ? '{}' : JSON.stringify(config({ a: '1' })());
      await one.patch('kubectl-client-side-apply', { metadata: { annotations: { [note]: text } } });
      expect((await one.changed(config({ a: '1' })))['data']).toEqual({ a: '1' });
    }
  });

  it('a volume whose source was edited gets that of Git, of another type too (mcp-mesh 1461)', async () => {
    const volume = (source: object): Manifest =>
      pods(
        { volumeMounts: [{ name: 'v', mountPath: '/v' }] },
        'Deployment',
        {},
        { volumes: [{ name: 'v', ...source }] },
      );
    const one = await begin(method);
    await one.first(method, volume({ emptyDir: {} }));
    const edit = [{ name: 'v', hostPath: { path: '/' }, $retainKeys: ['name', 'hostPath'] }];
    for (const wanted of [{ emptyDir: {} }, { secret: { secretName: 's' } }]) {
      await one.patch('kubectl-edit', { spec: { template: { spec: { volumes: edit } } } }, 'strategic');
      expect(JSON.stringify(await one.changed(volume(wanted)))).not.toContain('hostPath');
    }
  });

  it('one of two items of one key is removed, and not both (kubernetes 58477, 106809, kubectl 1750)', async () => {
    const variables = (...names: readonly string[]): Manifest =>
      pods({ env: names.map((name) => ({ name, value: 'x' })) });
    const stored = JSON.stringify(await change('client', variables('A', 'B', 'A'), variables('A', 'B')));
    expect(stored.split('"name":"A"').length).toBe(stored.split('"name":"B"').length);
  });

  it('the budget of a PodDisruptionBudget and the target of an autoscaler give way to others (cert-manager 6118)', async () => {
    const budget = (rest: object): Manifest =>
      manifest('policy/v1', 'PodDisruptionBudget', { spec: { selector: { matchLabels: labels }, ...rest } });
    const stored = await change(method, budget({ minAvailable: 1 }), budget({ maxUnavailable: '50%' }));
    expect(stored['spec']).not.toHaveProperty('minAvailable');
    const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'x' };
    const scaler = (rest: object): Manifest =>
      manifest('autoscaling/v1', 'HorizontalPodAutoscaler', { spec: { scaleTargetRef, maxReplicas: 3, ...rest } });
    const scaled = await change(method, scaler({ targetCPUUtilizationPercentage: 50 }), scaler({}));
    expect(scaled['spec']).toMatchObject({ targetCPUUtilizationPercentage: 80 });
  });

  it('a constraint leaves, of two with one topology key (argo-cd 16400, 15176)', async () => {
    const spread = (...kinds: readonly string[]): Manifest => {
      const items = kinds.map((whenUnsatisfiable) => ({ topologyKey: 'zone', maxSkew: 1, whenUnsatisfiable }));
      return pods({}, 'Deployment', {}, { topologySpreadConstraints: items });
    };
    const stored = await change(method, spread('DoNotSchedule', 'ScheduleAnyway'), spread('ScheduleAnyway'));
    expect(JSON.stringify(stored['spec'])).not.toContain('DoNotSchedule');
  });

  it('a webhook of which another manager applied the CA is out of sync with a reason, or gone (kubernetes 128102)', async () => {
    const hook = (name: string): object => ({
      name: `${name}.example.com`,
      admissionReviewVersions: ['v1'],
      sideEffects: 'None',
      failurePolicy: 'Ignore',
      clientConfig: { url: 'https://127.0.0.1:1/' },
      rules: [{ apiGroups: ['none.example.com'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['none'] }],
    });
    const webhooks = (...names: readonly string[]): Manifest =>
      manifest('admissionregistration.k8s.io/v1', 'ValidatingWebhookConfiguration', { webhooks: names.map(hook) });
    const one = await begin(method);
    await one.first(method, webhooks('kept', 'gone'));
    const caBundle = Buffer.from('-----BEGIN CERTIFICATE-----\n').toString('base64');
    await one.patch('ca-injector', { webhooks: [{ name: 'gone.example.com', clientConfig: { caBundle } }] }, 'apply');
    const outcome = await one.sync(webhooks('kept')).catch((error: unknown) => String(error));
    const [local] = await one.statuses(webhooks('kept'));
    // A server-side apply leaves the part of the other manager, which alone is no valid webhook.
    if (method === 'server') expect([local, outcome]).toEqual(['OutOfSync', expect.stringMatching(/is invalid/)]);
    else expect(JSON.stringify(outcome)).not.toContain('gone.example.com');
  });
});
