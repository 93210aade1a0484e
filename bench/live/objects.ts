import type { JsonObject } from '#base';

/** One kind that the scripted server serves. */
export interface GeneratedKind {
  readonly group: string;
  readonly kind: string;
  readonly resource: string;
  readonly count: number;
  /** The JSON of one object at a revision. */
  readonly object: (index: number, revision: number) => JsonObject;
}

const namespaceCount = 200;

function pseudoRandomHex(seed: number, length: number): string {
  let state = (seed * 2654435761 + 1013904223) >>> 0;
  let text = '';
  while (text.length < length) {
    state = (Math.imul(state ^ (state >>> 15), 2246822519) + 374761393) >>> 0;
    text += state.toString(16).padStart(8, '0');
  }
  return text.slice(0, length);
}

function uidOf(kind: string, index: number): string {
  const all = pseudoRandomHex(index * 31 + kind.length * 7919 + (kind.charCodeAt(0) << 8), 32);
  return `${all.slice(0, 8)}-${all.slice(8, 12)}-${all.slice(12, 16)}-${all.slice(16, 20)}-${all.slice(20)}`;
}

interface ObjectIdentity {
  readonly kind: string;
  readonly index: number;
  readonly revision: number;
  readonly name: string;
  readonly namespace: string;
  readonly owner?: JsonObject;
  /** The tracking Application, and the object's group and kind. */
  readonly app?: readonly [string, string];
}

function metadataOf({ kind, index, revision, name, namespace, owner, app }: ObjectIdentity): JsonObject {
  const tracking =
    app === undefined ? {} : { 'argocd.argoproj.io/tracking-id': `${app[0]}:${app[1]}:${namespace}/${name}` };
  const second = String(index % 60).padStart(2, '0');
  return {
    name,
    namespace,
    uid: uidOf(kind, index),
    resourceVersion: String(1_000_000_000 + index * 3 + revision),
    generation: 1,
    creationTimestamp: `2026-01-02T03:04:${second}Z`,
    labels: { 'app.kubernetes.io/name': `service-${index % 400}`, 'app.kubernetes.io/part-of': `team-${index % 40}` },
    annotations: { 'example.com/checksum': pseudoRandomHex(index, 64), ...tracking },
    ...(owner === undefined ? {} : { ownerReferences: [owner] }),
  };
}

/** managedFields as a server sends them: a third of the object. */
function managedFields(fields: JsonObject): JsonObject[] {
  return ['argocd-controller', 'kube-controller-manager'].map((manager, i) => ({
    ...{ apiVersion: 'v1', fieldsType: 'FieldsV1', manager, operation: i === 0 ? 'Apply' : 'Update' },
    time: '2026-01-02T03:04:05Z',
    fieldsV1: fields,
  }));
}

function fieldsOf(value: unknown): JsonObject {
  if (Array.isArray(value)) return Object.fromEntries(value.map((one, i) => [`k:{"name":"n${i}"}`, fieldsOf(one)]));
  if (typeof value !== 'object' || value === null) return {};
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [`f:${name}`, fieldsOf(one)]));
}

function podSpec(index: number): JsonObject {
  const env = Array.from({ length: 24 }, (_, i) => ({
    name: `SETTING_${i}`,
    value: pseudoRandomHex(index * 97 + i, 24),
  }));
  const probe = { httpGet: { path: '/healthz', port: 8080, scheme: 'HTTP' }, timeoutSeconds: 1, periodSeconds: 10 };
  const container = (name: string): JsonObject => ({
    name,
    image: `registry.example.com/team-${index % 40}/${name}:${pseudoRandomHex(index % 400, 12)}`,
    ...{ env, livenessProbe: probe, readinessProbe: probe, terminationMessagePath: '/dev/termination-log' },
    resources: { requests: { cpu: '100m', memory: '128Mi' }, limits: { memory: '256Mi' } },
    volumeMounts: [{ name: 'config', mountPath: '/etc/config' }],
  });
  return {
    containers: [container('main'), container('sidecar')],
    volumes: [{ name: 'config', configMap: { name: `config-${index}`, defaultMode: 420 } }],
    ...{ restartPolicy: 'Always', dnsPolicy: 'ClusterFirst', serviceAccountName: 'default', securityContext: {} },
  };
}

function trueCondition(type: string): JsonObject {
  const at = '2026-01-02T03:04:05Z';
  return {
    type,
    status: 'True',
    lastProbeTime: null,
    lastTransitionTime: at,
    reason: 'Done',
    message: `${type} is so`,
  };
}

function withManagedFields(meta: JsonObject, rest: JsonObject): JsonObject {
  const fields = { 'f:metadata': fieldsOf({ labels: meta['labels'] }), ...fieldsOf(rest) };
  return { metadata: { ...meta, managedFields: managedFields(fields) }, ...rest };
}

function deploymentObject(index: number, revision: number): JsonObject {
  const name = `web-${index}`;
  const place = { kind: 'Deployment', index, revision, name, namespace: `ns-${index % namespaceCount}` };
  return withManagedFields(metadataOf({ ...place, app: [`app-${index >> 2}`, 'apps/Deployment'] }), {
    spec: {
      replicas: 4,
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels: { app: name } }, spec: podSpec(index) },
    },
    status: {
      observedGeneration: 1,
      replicas: 4,
      updatedReplicas: 4,
      readyReplicas: 4,
      availableReplicas: 4,
      conditions: [trueCondition('Available'), trueCondition('Progressing')],
    },
  });
}

function replicaSetObject(index: number, revision: number): JsonObject {
  const parent = index >> 2;
  const name = `web-${parent}-${pseudoRandomHex(index, 10)}`;
  const owner = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    name: `web-${parent}`,
    uid: uidOf('Deployment', parent),
    controller: true,
  };
  const place = { kind: 'ReplicaSet', index, revision, name, namespace: `ns-${parent % namespaceCount}` };
  return withManagedFields(metadataOf({ ...place, owner }), {
    spec: {
      replicas: 4,
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels: { app: name } }, spec: podSpec(index) },
    },
    status: { observedGeneration: 1, replicas: 4, readyReplicas: 4, availableReplicas: 4 },
  });
}

function podObject(index: number, revision: number): JsonObject {
  const parent = index >> 1;
  const owner = {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    name: `web-${parent >> 2}-${pseudoRandomHex(parent, 10)}`,
    uid: uidOf('ReplicaSet', parent),
    controller: true,
  };
  const place = {
    kind: 'Pod',
    index,
    revision,
    name: `web-${parent >> 2}-${pseudoRandomHex(parent, 10)}-${pseudoRandomHex(index, 5)}`,
    namespace: `ns-${(parent >> 2) % namespaceCount}`,
  };
  const container = (name: string): JsonObject => ({
    name,
    ready: true,
    restartCount: revision,
    started: true,
    image: name,
    imageID: pseudoRandomHex(index, 64),
    containerID: `containerd://${pseudoRandomHex(index + 1, 64)}`,
    state: { running: { startedAt: '2026-01-02T03:04:05Z' } },
  });
  return withManagedFields(metadataOf({ ...place, owner }), {
    spec: { ...podSpec(index), nodeName: `node-${index % 300}` },
    status: {
      phase: 'Running',
      podIP: `10.0.${index % 250}.${index % 240}`,
      containerStatuses: [container('main'), container('sidecar')],
      conditions: ['Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map(trueCondition),
    },
  });
}

function configMapObject(managed: number): GeneratedKind['object'] {
  return (index, revision) => {
    const place = {
      kind: 'ConfigMap',
      index,
      revision,
      name: `config-${index}`,
      namespace: `ns-${index % namespaceCount}`,
    };
    const data = Object.fromEntries(
      Array.from({ length: 40 }, (_, i) => [
        `key-${i}`,
        `${pseudoRandomHex(index * 53 + i, 64)} is the value of key ${i}, revision ${revision}`,
      ]),
    );
    return withManagedFields(
      metadataOf(index < managed ? { ...place, app: [`app-${index >> 2}`, '/ConfigMap'] } : place),
      { data },
    );
  };
}

/**
 * A cluster with objects of 6 to 10 kB, a tenth of them managed: Deployments with their ReplicaSets
 * and Pods, and ConfigMaps.
 */
export function largeObjects(objects: number): readonly GeneratedKind[] {
  const share = (part: number): number => Math.round(objects * part);
  return [
    { group: 'apps', kind: 'Deployment', resource: 'deployments', count: share(0.05), object: deploymentObject },
    { group: 'apps', kind: 'ReplicaSet', resource: 'replicasets', count: share(0.2), object: replicaSetObject },
    { group: '', kind: 'Pod', resource: 'pods', count: share(0.4), object: podObject },
    { group: '', kind: 'ConfigMap', resource: 'configmaps', count: share(0.35), object: configMapObject(share(0.05)) },
  ];
}

/** Small tracked objects, ten per Application. */
export function trackedEntries(objects: number): readonly GeneratedKind[] {
  const kinds = ['ConfigMap', 'Service', 'ServiceAccount', 'Secret'];
  return kinds.map((kind): GeneratedKind => {
    const count = Math.round(objects / kinds.length);
    const object = (index: number, revision: number): JsonObject => {
      const [name, namespace] = [`${kind.toLowerCase()}-${index}`, `ns-${index % namespaceCount}`];
      const app = [`app-${Math.floor((index * kinds.length) / 10)}`, `/${kind}`] as const;
      return { metadata: metadataOf({ kind, index, revision, name, namespace, app }) };
    };
    return { group: '', kind, resource: `${kind.toLowerCase()}s`, count, object };
  });
}
