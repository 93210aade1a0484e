import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { seededRandom } from '#base';
import type { Json, JsonObject } from '#base';
import type { KubeObject } from '#model';
import { delayAnnotation, failAnnotation, startSimCluster } from '#sim';
import type { SimCluster } from '#sim';
import { FakeClock } from '#support';

const delayMs = 100;
let clock: FakeClock;
let cluster: SimCluster;

beforeEach(async () => {
  clock = new FakeClock();
  cluster = await startSimCluster({ name: 'w', clock, random: seededRandom(1), workloads: { enabled: true, delayMs } });
});
afterEach(async () => {
  await cluster.close();
});

interface Workload {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly spec: JsonObject;
  readonly annotations?: Readonly<Record<string, string>>;
}

function workload({ apiVersion, kind, name, spec, annotations = {} }: Workload): KubeObject {
  const labels = { app: name };
  const restart = kind === 'Job' ? { restartPolicy: 'Never' } : {};
  const template = {
    metadata: { labels, annotations },
    spec: { ...restart, containers: [{ name: 'c', image: 'app:1' }] },
  };
  const selector = kind === 'Job' ? {} : { selector: { matchLabels: labels } };
  return { apiVersion, kind, metadata: { name, namespace: 'default' }, spec: { ...selector, template, ...spec } };
}

const deployment = (spec: JsonObject = {}, annotations = {}): KubeObject =>
  workload({ apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', spec, annotations });

const get = (group: string, kind: string, name: string): KubeObject | undefined =>
  cluster.store.get(group, kind, 'default', name);
const status = (group: string, kind: string, name: string): JsonObject =>
  (get(group, kind, name)?.['status'] ?? {}) as JsonObject;
const pods = (): readonly KubeObject[] => cluster.store.list('', 'Pod', 'default');
const podStatus = (): unknown[] => pods().map((pod) => (pod['status'] as JsonObject)['phase']);

describe('Deployment', () => {
  it('creates a ReplicaSet and pods that become ready after their delay', async () => {
    cluster.store.create(deployment({ replicas: 3 }));
    await clock.advance(delayMs / 2);
    expect(podStatus()).toEqual(['Pending', 'Pending', 'Pending']);
    expect(status('apps', 'Deployment', 'web')).toMatchObject({ updatedReplicas: 3, unavailableReplicas: 3 });
    await clock.advance(delayMs * 2);
    expect(podStatus()).toEqual(['Running', 'Running', 'Running']);
    expect(status('apps', 'Deployment', 'web')).toMatchObject({
      readyReplicas: 3,
      availableReplicas: 3,
      observedGeneration: 1,
    });
  });

  it('rolls out slowly when its template says so', async () => {
    cluster.store.create(deployment({ replicas: 1 }, { [delayAnnotation]: '60000' }));
    await clock.advance(59_000);
    expect(podStatus()).toEqual(['Pending']);
    expect(status('apps', 'Deployment', 'web')).toMatchObject({ unavailableReplicas: 1 });
    await clock.advance(2_000);
    expect(podStatus()).toEqual(['Running']);
    expect(status('apps', 'Deployment', 'web')).toMatchObject({ availableReplicas: 1 });
  });

  it('replaces pods when the template changes, and then stops writing', async () => {
    cluster.store.create(deployment({ replicas: 2 }));
    await clock.advance(delayMs * 3);
    const live = get('apps', 'Deployment', 'web')!;
    const spec = live['spec'] as JsonObject;
    const template = spec['template'] as JsonObject;
    cluster.store.update({
      ...live,
      spec: {
        ...spec,
        template: { ...template, spec: { ...(template['spec'] as JsonObject), terminationGracePeriodSeconds: 0 } },
      },
    });
    await clock.advance(delayMs * 6);
    expect(
      cluster.store.list('apps', 'ReplicaSet', 'default').map((set) => (set['spec'] as JsonObject)['replicas']),
    ).toEqual(expect.arrayContaining([0, 2]));
    expect(status('apps', 'Deployment', 'web')).toMatchObject({
      updatedReplicas: 2,
      availableReplicas: 2,
      replicas: 2,
    });
    const before = get('apps', 'Deployment', 'web')?.metadata.resourceVersion;
    await clock.advance(60_000);
    expect(get('apps', 'Deployment', 'web')?.metadata.resourceVersion).toBe(before);
  });

  it('replaces a deleted pod', async () => {
    cluster.store.create(deployment({ replicas: 1 }));
    await clock.advance(delayMs * 3);
    const first = pods()[0]?.metadata.name ?? '';
    cluster.store.delete('', 'Pod', 'default', first);
    await clock.advance(delayMs * 6);
    expect(pods().map((pod) => pod.metadata.name)).not.toContain(first);
    expect(podStatus()).toEqual(['Running']);
  });

  it.each([
    ['CrashLoopBackOff', 'Running'],
    ['ImagePullBackOff', 'Pending'],
    ['Pending', 'Pending'],
  ])('stays unavailable if its pods fail with %s', async (how, phase) => {
    cluster.store.create(deployment({ replicas: 1 }, { [failAnnotation]: how }));
    await clock.advance(delayMs * 5);
    expect(new Set(podStatus().map((seen) => seen ?? 'Pending'))).toEqual(new Set([phase]));
    expect(status('apps', 'Deployment', 'web')['availableReplicas']).toBeUndefined();
  });

  it('reports that it is stuck when its progress deadline has passed', async () => {
    cluster.store.create(
      deployment(
        { replicas: 1, progressDeadlineSeconds: 30, minReadySeconds: 0 },
        { [failAnnotation]: 'ImagePullBackOff' },
      ),
    );
    await clock.advance(31_000);
    const conditions = status('apps', 'Deployment', 'web')['conditions'] as readonly Json[];
    expect(conditions).toContainEqual(
      expect.objectContaining({ type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded' }),
    );
  });
});

describe('other workloads', () => {
  it('runs StatefulSet pods one by one, each with a claim that is bound to a volume', async () => {
    const claims = [
      {
        metadata: { name: 'data' },
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
      },
    ];
    const spec = { replicas: 2, serviceName: 'db', volumeClaimTemplates: claims };
    cluster.store.create(workload({ apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'db', spec }));
    await clock.advance(delayMs / 2);
    expect(pods().map((pod) => pod.metadata.name)).toEqual(['db-0']);
    await clock.advance(delayMs * 5);
    expect(pods().map((pod) => pod.metadata.name)).toEqual(['db-0', 'db-1']);
    expect(status('apps', 'StatefulSet', 'db')).toMatchObject({ readyReplicas: 2, updatedReplicas: 2 });
    expect(status('', 'PersistentVolumeClaim', 'data-db-1')).toMatchObject({
      phase: 'Bound',
      capacity: { storage: '1Gi' },
    });
  });

  it('runs one DaemonSet pod per node', async () => {
    cluster.store.create(workload({ apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'agent', spec: {} }));
    await clock.advance(delayMs * 3);
    expect(status('apps', 'DaemonSet', 'agent')).toMatchObject({
      desiredNumberScheduled: 1,
      numberReady: 1,
      numberAvailable: 1,
    });
  });

  it('completes a Job', async () => {
    cluster.store.create(workload({ apiVersion: 'batch/v1', kind: 'Job', name: 'once', spec: { completions: 2 } }));
    await clock.advance(delayMs * 12);
    expect(status('batch', 'Job', 'once')).toMatchObject({ succeeded: 2 });
    expect(status('batch', 'Job', 'once')['conditions']).toContainEqual(
      expect.objectContaining({ type: 'Complete', status: 'True' }),
    );
  });

  it('fails a Job when its pods fail, after its backoff limit', async () => {
    const annotations = { [failAnnotation]: 'Failed' };
    cluster.store.create(
      workload({ apiVersion: 'batch/v1', kind: 'Job', name: 'bad', spec: { backoffLimit: 1 }, annotations }),
    );
    await clock.advance(delayMs * 12);
    expect(status('batch', 'Job', 'bad')).toMatchObject({ failed: 2 });
    expect(status('batch', 'Job', 'bad')['conditions']).toContainEqual(
      expect.objectContaining({ type: 'Failed', reason: 'BackoffLimitExceeded' }),
    );
  });

  it('deletes a Job after its TTL', async () => {
    cluster.store.create(
      workload({ apiVersion: 'batch/v1', kind: 'Job', name: 'once', spec: { ttlSecondsAfterFinished: 5 } }),
    );
    await clock.advance(delayMs * 6);
    expect(get('batch', 'Job', 'once')).toBeDefined();
    await clock.advance(10_000);
    expect(get('batch', 'Job', 'once')).toBeUndefined();
  });

  it('gives a Service endpoints of ready pods, and a load balancer an address', async () => {
    cluster.store.create(deployment({ replicas: 2 }));
    cluster.store.create({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'web', namespace: 'default' },
      spec: { type: 'LoadBalancer', selector: { app: 'web' }, ports: [{ port: 80, targetPort: 8080 }] },
    });
    await clock.advance(delayMs * 4);
    const slices = cluster.store
      .list('discovery.k8s.io', 'EndpointSlice', 'default')
      .filter((slice) => slice.metadata.labels?.['kubernetes.io/service-name'] === 'web');
    expect(slices).toHaveLength(1);
    expect(slices[0]?.['endpoints']).toHaveLength(2);
    expect(status('', 'Service', 'web')).toMatchObject({ loadBalancer: { ingress: [{ ip: expect.any(String) }] } });
  });
});
