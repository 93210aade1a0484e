import type { Json, JsonObject } from '#base';
import { valueAt, deepEqual, hashText } from '#base';
import type { KubeObject } from '#model';
import { createObject, replaceObject } from './engine.ts';
import type { ReconcilerContext } from './engine.ts';
import {
  conditionFor,
  isDeleting,
  isReady,
  objectListIn,
  numberIn,
  ownedObjects,
  ownedBy,
  specObjectOf,
  statusObjectOf,
  textIn,
} from './parts.ts';
import { nonZero } from './replicas.ts';

/** Binds a claim to a volume that is created for it. */
export function reconcileClaim(claim: KubeObject, context: ReconcilerContext): void {
  const spec = specObjectOf(claim);
  if (isDeleting(claim) || statusObjectOf(claim)['phase'] === 'Bound') return;
  const volumeName = `pvc-${claim.metadata.uid ?? ''}`;
  const storage = textIn(spec, 'resources', 'requests', 'storage') || '1Gi';
  const accessModes = spec['accessModes'] ?? ['ReadWriteOnce'];
  if (context.store.get('', 'PersistentVolume', '', volumeName) === undefined) {
    createObject(context, volumeFor(claim, { volumeName, storage, accessModes }));
  }
  const bound =
    spec['volumeName'] === volumeName ? claim : replaceObject(context, { ...claim, spec: { ...spec, volumeName } });
  context.setStatus(bound, { phase: 'Bound', accessModes, capacity: { storage } });
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

/** Deletes a volume with its claim. */
export function reconcileVolume(volume: KubeObject, context: ReconcilerContext): void {
  if (isDeleting(volume)) return;
  const claim = specObjectOf(volume)['claimRef'];
  const held = context.store.get('', 'PersistentVolumeClaim', textIn(claim, 'namespace'), textIn(claim, 'name'));
  if (textIn(claim, 'uid') !== '' && held?.metadata.uid !== textIn(claim, 'uid')) {
    context.store.delete('', 'PersistentVolume', '', volume.metadata.name ?? '');
  } else context.setStatus(volume, { phase: claim === undefined ? 'Available' : 'Bound' });
}

/** Maintains the EndpointSlice of a Service, and the external address of a load balancer. */
export function reconcileService(service: KubeObject, context: ReconcilerContext): void {
  if (isDeleting(service)) return;
  const spec = specObjectOf(service);
  if (spec['selector'] !== undefined) keepSlice(service, context);
  if (spec['type'] === 'LoadBalancer') {
    context.setStatus(service, {
      ...statusObjectOf(service),
      loadBalancer: { ingress: [{ ip: outsideAddress(service), ipMode: 'VIP' }] },
    });
  }
}

function keepSlice(service: KubeObject, context: ReconcilerContext): void {
  const namespace = service.metadata.namespace ?? '';
  const selector = Object.entries((specObjectOf(service)['selector'] ?? {}) as Readonly<Record<string, string>>);
  const pods = context.store
    .list('', 'Pod', namespace)
    .filter((pod) => !isDeleting(pod) && typeof statusObjectOf(pod)['podIP'] === 'string')
    .filter((pod) => selector.every(([key, value]) => pod.metadata.labels?.[key] === value));
  const endpoints = pods
    .map((pod) => ({
      addresses: [textIn(statusObjectOf(pod), 'podIP')],
      conditions: { ready: isReady(pod), serving: isReady(pod), terminating: false },
      targetRef: { kind: 'Pod', namespace, name: pod.metadata.name ?? '', uid: pod.metadata.uid ?? '' },
    }))
    .sort((a, b) => (String(a.addresses[0]) < String(b.addresses[0]) ? -1 : 1));
  const ports = objectListIn(specObjectOf(service), 'ports').map((port) => ({
    name: textIn(port, 'name'),
    port: numberIn(port, numberIn(port, 80, 'port'), 'targetPort'),
    protocol: textIn(port, 'protocol') || 'TCP',
  }));
  const [slice] = ownedObjects(context.store, service, 'discovery.k8s.io', 'EndpointSlice');
  const known = slice as unknown as JsonObject | undefined;
  if (slice === undefined) createObject(context, newSlice(service, endpoints, ports, context));
  else if (!deepEqual(objectListIn(known, 'endpoints'), endpoints) || !deepEqual(objectListIn(known, 'ports'), ports))
    replaceObject(context, { ...slice, endpoints, ports });
}

function newSlice(
  service: KubeObject,
  endpoints: readonly JsonObject[],
  ports: readonly JsonObject[],
  context: ReconcilerContext,
): KubeObject {
  const name = service.metadata.name ?? '';
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: `${name}-${context.random.suffix(5)}`,
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

/** Gives an Ingress its address at once. */
export function reconcileIngress(ingress: KubeObject, context: ReconcilerContext): void {
  if (!isDeleting(ingress))
    context.setStatus(ingress, { loadBalancer: { ingress: [{ ip: outsideAddress(ingress) }] } });
}

/** A stable address from the documentation range. */
function outsideAddress(object: KubeObject): string {
  return `203.0.113.${1 + (Number.parseInt(hashText(object.metadata.uid ?? '').slice(0, 4), 16) % 254)}`;
}

/** An autoscaler that never scales. */
export function reconcileAutoscaler(hpa: KubeObject, context: ReconcilerContext): void {
  if (isDeleting(hpa)) return;
  const target = specObjectOf(hpa)['scaleTargetRef'];
  const scaled = context.store.get(
    'apps',
    textIn(target, 'kind'),
    hpa.metadata.namespace ?? '',
    textIn(target, 'name'),
  );
  const current = scaled === undefined ? 0 : numberIn(specObjectOf(scaled), 1, 'replicas');
  const now = context.now();
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
  context.setStatus(hpa, {
    currentReplicas: current,
    desiredReplicas: current,
    ...(hpa.apiVersion === 'autoscaling/v2' ? { currentMetrics: null } : {}),
    conditions: [
      conditionFor(hpa, able, now),
      conditionFor(
        hpa,
        {
          type: 'ScalingActive',
          status: 'True',
          reason: 'ValidMetricFound',
          message: 'the HPA was able to successfully calculate a replica count',
        },
        now,
      ),
      conditionFor(
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

/** Counts the pods of a disruption budget. */
export function reconcileBudget(budget: KubeObject, context: ReconcilerContext): void {
  if (isDeleting(budget)) return;
  const spec = specObjectOf(budget);
  const wanted = Object.entries((valueAt(spec, 'selector', 'matchLabels') ?? {}) as Readonly<Record<string, string>>);
  const pods = context.store
    .list('', 'Pod', budget.metadata.namespace ?? '')
    .filter((pod) => wanted.every(([key, value]) => pod.metadata.labels?.[key] === value));
  const healthy = pods.filter(isReady).length;
  const needed = neededHealthy(spec, pods.length);
  context.setStatus(budget, {
    observedGeneration: budget.metadata.generation ?? 1,
    currentHealthy: healthy,
    desiredHealthy: needed,
    disruptionsAllowed: Math.max(0, healthy - needed),
    expectedPods: pods.length,
    conditions: [
      conditionFor(
        budget,
        healthy > needed
          ? { type: 'DisruptionAllowed', status: 'True', reason: 'SufficientPods', message: '' }
          : { type: 'DisruptionAllowed', status: 'False', reason: 'InsufficientPods', message: '' },
        context.now(),
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
