import type { Json, JsonObject } from '#base';
import { at, deepEqual, hashText } from '#base';
import type { KubeObject } from '#model';
import { create, replace } from './engine.ts';
import type { World } from './engine.ts';
import { condition, isDeleting, isReady, listAt, numberAt, owned, ownedBy, specOf, statusOf, textAt } from './parts.ts';
import { nonZero } from './replicas.ts';

/** A claim is bound to a volume that is made for it. */
export function reconcileClaim(claim: KubeObject, world: World): void {
  const spec = specOf(claim);
  if (isDeleting(claim) || statusOf(claim)['phase'] === 'Bound') return;
  const volumeName = `pvc-${claim.metadata.uid ?? ''}`;
  const storage = textAt(spec, 'resources', 'requests', 'storage') || '1Gi';
  const accessModes = spec['accessModes'] ?? ['ReadWriteOnce'];
  if (world.store.get('', 'PersistentVolume', '', volumeName) === undefined) {
    create(world, volumeFor(claim, { volumeName, storage, accessModes }));
  }
  const bound = spec['volumeName'] === volumeName ? claim : replace(world, { ...claim, spec: { ...spec, volumeName } });
  world.setStatus(bound, { phase: 'Bound', accessModes, capacity: { storage } });
}

function volumeFor(claim: KubeObject, how: { volumeName: string; storage: string; accessModes: Json }): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: how.volumeName },
    spec: {
      capacity: { storage: how.storage },
      accessModes: how.accessModes,
      persistentVolumeReclaimPolicy: 'Delete',
      hostPath: { path: `/sim/${how.volumeName}` },
      claimRef: {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        namespace: claim.metadata.namespace ?? '',
        name: claim.metadata.name ?? '',
        uid: claim.metadata.uid ?? '',
      },
    },
  };
}

/** A volume goes with its claim. */
export function reconcileVolume(volume: KubeObject, world: World): void {
  if (isDeleting(volume)) return;
  const claim = specOf(volume)['claimRef'];
  const held = world.store.get('', 'PersistentVolumeClaim', textAt(claim, 'namespace'), textAt(claim, 'name'));
  if (textAt(claim, 'uid') !== '' && held?.metadata.uid !== textAt(claim, 'uid')) {
    world.store.delete('', 'PersistentVolume', '', volume.metadata.name ?? '');
  } else world.setStatus(volume, { phase: claim === undefined ? 'Available' : 'Bound' });
}

/** A Service gets its EndpointSlice of ready pods, and an address from outside if it asks for a load balancer. */
export function reconcileService(service: KubeObject, world: World): void {
  if (isDeleting(service)) return;
  const spec = specOf(service);
  if (spec['selector'] !== undefined) keepSlice(service, world);
  if (spec['type'] === 'LoadBalancer') {
    world.setStatus(service, {
      ...statusOf(service),
      loadBalancer: { ingress: [{ ip: outsideAddress(service), ipMode: 'VIP' }] },
    });
  }
}

function keepSlice(service: KubeObject, world: World): void {
  const namespace = service.metadata.namespace ?? '';
  const selector = Object.entries((specOf(service)['selector'] ?? {}) as Readonly<Record<string, string>>);
  const pods = world.store
    .list('', 'Pod', namespace)
    .filter((pod) => !isDeleting(pod) && typeof statusOf(pod)['podIP'] === 'string')
    .filter((pod) => selector.every(([key, value]) => pod.metadata.labels?.[key] === value));
  const endpoints = pods
    .map((pod) => ({
      addresses: [textAt(statusOf(pod), 'podIP')],
      conditions: { ready: isReady(pod), serving: isReady(pod), terminating: false },
      targetRef: { kind: 'Pod', namespace, name: pod.metadata.name ?? '', uid: pod.metadata.uid ?? '' },
    }))
    .sort((a, b) => (String(a.addresses[0]) < String(b.addresses[0]) ? -1 : 1));
  const ports = listAt(specOf(service), 'ports').map((port) => ({
    name: textAt(port, 'name'),
    port: numberAt(port, numberAt(port, 80, 'port'), 'targetPort'),
    protocol: textAt(port, 'protocol') || 'TCP',
  }));
  const [slice] = owned(world.store, service, 'discovery.k8s.io', 'EndpointSlice');
  const known = slice as unknown as JsonObject | undefined;
  if (slice === undefined) create(world, newSlice(service, endpoints, ports, world));
  else if (!deepEqual(listAt(known, 'endpoints'), endpoints) || !deepEqual(listAt(known, 'ports'), ports))
    replace(world, { ...slice, endpoints, ports });
}

function newSlice(
  service: KubeObject,
  endpoints: readonly JsonObject[],
  ports: readonly JsonObject[],
  world: World,
): KubeObject {
  const name = service.metadata.name ?? '';
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: `${name}-${world.random.suffix(5)}`,
      namespace: service.metadata.namespace ?? '',
      labels: {
        'kubernetes.io/service-name': name,
        'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
      },
      ownerReferences: [ownedBy(service)],
    },
    addressType: 'IPv4',
    endpoints,
    ports,
  };
}

/** An Ingress is reachable at once. */
export function reconcileIngress(ingress: KubeObject, world: World): void {
  if (!isDeleting(ingress)) world.setStatus(ingress, { loadBalancer: { ingress: [{ ip: outsideAddress(ingress) }] } });
}

/** An address of the documentation range, the same at every look. */
function outsideAddress(object: KubeObject): string {
  return `203.0.113.${1 + (Number.parseInt(hashText(object.metadata.uid ?? '').slice(0, 4), 16) % 254)}`;
}

/** An autoscaler that is content with what there is. */
export function reconcileAutoscaler(hpa: KubeObject, world: World): void {
  if (isDeleting(hpa)) return;
  const target = specOf(hpa)['scaleTargetRef'];
  const scaled = world.store.get('apps', textAt(target, 'kind'), hpa.metadata.namespace ?? '', textAt(target, 'name'));
  const current = scaled === undefined ? 0 : numberAt(specOf(scaled), 1, 'replicas');
  const now = world.now();
  const able =
    scaled === undefined
      ? ({
          type: 'AbleToScale',
          status: 'False',
          reason: 'FailedGetScale',
          message: `the HPA controller was unable to get the target's current scale`,
        } as const)
      : ({
          type: 'AbleToScale',
          status: 'True',
          reason: 'ReadyForNewScale',
          message: 'recommended size matches current size',
        } as const);
  world.setStatus(hpa, {
    currentReplicas: current,
    desiredReplicas: current,
    ...(hpa.apiVersion === 'autoscaling/v2' ? { currentMetrics: null } : {}),
    conditions: [
      condition(hpa, able, now),
      condition(
        hpa,
        {
          type: 'ScalingActive',
          status: 'True',
          reason: 'ValidMetricFound',
          message: 'the HPA was able to successfully calculate a replica count',
        },
        now,
      ),
      condition(
        hpa,
        {
          type: 'ScalingLimited',
          status: 'False',
          reason: 'DesiredWithinRange',
          message: 'the desired count is within the acceptable range',
        },
        now,
      ),
    ],
  });
}

/** A disruption budget counts the pods that it guards. */
export function reconcileBudget(budget: KubeObject, world: World): void {
  if (isDeleting(budget)) return;
  const spec = specOf(budget);
  const wanted = Object.entries((at(spec, 'selector', 'matchLabels') ?? {}) as Readonly<Record<string, string>>);
  const pods = world.store
    .list('', 'Pod', budget.metadata.namespace ?? '')
    .filter((pod) => wanted.every(([key, value]) => pod.metadata.labels?.[key] === value));
  const healthy = pods.filter(isReady).length;
  const needed = neededHealthy(spec, pods.length);
  world.setStatus(budget, {
    observedGeneration: budget.metadata.generation ?? 1,
    currentHealthy: healthy,
    desiredHealthy: needed,
    disruptionsAllowed: Math.max(0, healthy - needed),
    expectedPods: pods.length,
    conditions: [
      condition(
        budget,
        healthy > needed
          ? { type: 'DisruptionAllowed', status: 'True', reason: 'SufficientPods', message: '' }
          : { type: 'DisruptionAllowed', status: 'False', reason: 'InsufficientPods', message: '' },
        world.now(),
        nonZero({ observedGeneration: budget.metadata.generation ?? 1 }),
      ),
    ],
  });
}

function neededHealthy(spec: JsonObject, expected: number): number {
  const share = (value: Json | undefined): number => {
    if (typeof value === 'number') return value;
    return typeof value === 'string' && value.endsWith('%')
      ? Math.ceil((Number.parseInt(value, 10) / 100) * expected)
      : 0;
  };
  if (spec['maxUnavailable'] !== undefined) return Math.max(0, expected - share(spec['maxUnavailable']));
  return spec['minAvailable'] === undefined ? 1 : share(spec['minAvailable']);
}
