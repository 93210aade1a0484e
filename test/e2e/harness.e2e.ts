import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ApiClient, eventually } from '#support';
import { isBy, startDouble, startServers } from './support/index.ts';
import type { ClusterDouble, Server, Servers } from './support/index.ts';

const deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web' },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: 'web' } },
    template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'c', image: 'nginx:1' }] } },
  },
};
const statefulSet = {
  ...deployment,
  kind: 'StatefulSet',
  metadata: { name: 'db' },
  spec: {
    ...deployment.spec,
    serviceName: 'db',
    selector: { matchLabels: { app: 'db' } },
    template: { ...deployment.spec.template, metadata: { labels: { app: 'db' } } },
    volumeClaimTemplates: [
      {
        metadata: { name: 'data' },
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
      },
    ],
  },
};
const job = {
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: 'once' },
  spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'busybox' }] } } },
};

describe('the servers of e2e', () => {
  let world: Servers<'hub' | 'managed'>;
  let hub: Server;
  let double: ClusterDouble;

  beforeAll(async () => {
    world = await startServers({ names: ['hub', 'managed'] });
    hub = world.servers.hub;
    double = await startDouble(hub.access);
  });
  afterAll(async () => {
    await double.stop();
    await world.close();
  });

  it('are two separate clusters with names', async () => {
    await hub.kubectl(['create', 'configmap', 'only-here']);
    expect(await world.servers.managed.api.get('/api/v1/namespaces/default/configmaps/only-here')).toBeUndefined();
    expect(await hub.kubectl(['config', 'current-context'])).toBe('hub\n');
    expect((await hub.api.get<{ major: string }>('/version'))?.major).toBe('1');
  });

  it('authenticate ServiceAccounts by token and authorize them by RBAC', async () => {
    await hub.kubectl(['create', 'serviceaccount', 'reader']);
    const api = new ApiClient(await hub.as('default', 'reader'));
    const ask = async (path: string): Promise<number> => (await api.exchange({ method: 'GET', path })).status;
    expect(await ask('/api/v1/namespaces/default/configmaps')).toBe(403);
    await hub.kubectl(['create', 'role', 'reader', '--verb=list', '--resource=configmaps']);
    await hub.kubectl(['create', 'rolebinding', 'reader', '--role=reader', '--serviceaccount=default:reader']);
    await eventually(async () => expect(await ask('/api/v1/namespaces/default/configmaps')).toBe(200));
    expect(await ask('/api/v1/namespaces/default/secrets')).toBe(403);
    await api.close();
    const mine = hub.audit().filter((event) => isBy(event, 'default', 'reader'));
    expect(mine.map((event) => event.annotations?.['authorization.k8s.io/decision'])).toEqual(
      expect.arrayContaining(['allow', 'forbid']),
    );
    expect(
      mine.find((event) => event.responseStatus?.code === 200)?.annotations?.['authorization.k8s.io/reason'],
    ).toContain('RoleBinding "reader/default"');
  });

  it('make workloads ready and delete them with the test double', async () => {
    await hub.kubectl(['create', 'namespace', 'work']);
    for (const object of [deployment, statefulSet, job])
      await hub.kubectl(['apply', '-n', 'work', '-f', '-'], { input: JSON.stringify(object) });
    await hub.kubectl(['rollout', 'status', '-n', 'work', 'deploy/web', '--timeout=20s']);
    await hub.kubectl(['rollout', 'status', '-n', 'work', 'sts/db', '--timeout=20s']);
    await hub.kubectl(['wait', '-n', 'work', '--for=condition=complete', 'job/once', '--timeout=20s']);
    expect((await hub.api.list('/api/v1/namespaces/work/pods?labelSelector=app%3Dweb')).length).toBe(2);
    await hub.kubectl(['delete', '-n', 'work', 'deploy/web', '--cascade=foreground', '--timeout=20s']);
    expect(await hub.api.list('/apis/apps/v1/namespaces/work/replicasets')).toEqual([]);
    await hub.kubectl(['delete', 'namespace', 'work', '--timeout=30s']);
    expect(await hub.api.get('/api/v1/namespaces/work')).toBeUndefined();
  });

  it.each(['apiserver', 'etcd'] as const)(
    'work after a restart of the %s, with the same address and data',
    async (part) => {
      await hub.kubectl(['create', 'configmap', `before-${part}`]);
      await hub.restart(part);
      expect(await hub.api.get(`/api/v1/namespaces/default/configmaps/before-${part}`)).toBeDefined();
      const name = `after-${part}`;
      await hub.kubectl(['create', 'namespace', name]);
      await hub.kubectl(['apply', '-n', name, '-f', '-'], { input: JSON.stringify(deployment) });
      await hub.kubectl(['rollout', 'status', '-n', name, 'deploy/web', '--timeout=30s']);
    },
  );

  it('have helm and kustomize', async () => {
    const chart = await hub.helm(['create', 'sample'], { cwd: world.folder });
    expect(chart).toContain('Creating sample');
    await hub.helm(['install', 'first', './sample', '--wait', '--timeout', '60s'], { cwd: world.folder });
    expect(await hub.helm(['list', '--short'])).toBe('first\n');
    await hub.helm(['uninstall', 'first']);
  });
});
