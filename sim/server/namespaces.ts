import { deepEqual } from '#base';
import type { JsonObject } from '#base';
import type { KubeObject } from '#model';
import type { SimStore } from '../types.ts';
import { field, items, str, timestamp, withField } from './fields.ts';
import type { Inner } from './inner.ts';
import { shelfOf } from './registry.ts';
import type { Change } from './storage.ts';

const shelf = '/Namespace';

/**
 * What the controllers of namespaces do: every namespace has its default ServiceAccount and the cluster's root certificate, and a namespace
 * that is being deleted is emptied and then let go (kubernetes: pkg/controller/namespace, serviceaccount, rootcacertpublisher).
 */
export function startNamespaces(inner: Inner): () => void {
  return inner.storage.subscribe((change) => {
    if (change.kind === shelf) onNamespace(inner, change);
    else if (change.type === 'DELETED') onGone(inner, change);
  });
}

/** The namespaces and the Service that every cluster has from its first second. */
export function bootstrap(store: SimStore): void {
  for (const name of ['default', 'kube-system', 'kube-public', 'kube-node-lease'])
    store.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } }, 'kube-apiserver');
  store.create(
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: {
        name: 'kubernetes',
        namespace: 'default',
        labels: { component: 'apiserver', provider: 'kubernetes' },
      },
      spec: {
        type: 'ClusterIP',
        clusterIP: '10.96.0.1',
        ports: [{ name: 'https', port: 443, protocol: 'TCP', targetPort: 6443 }],
      },
    },
    'kube-apiserver',
  );
}

function onNamespace(inner: Inner, change: Change): void {
  if (change.type === 'DELETED') return;
  const now = inner.storage.get(shelf, '', change.object.metadata.name ?? '');
  if (now === undefined) return;
  if (now.metadata.deletionTimestamp !== undefined) sweep(inner, now);
  else if (change.type === 'ADDED') for (const object of furnishings(now)) furnish(inner, object);
}

function furnishings(namespace: KubeObject): readonly KubeObject[] {
  const where = { namespace: namespace.metadata.name ?? '' };
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', ...where } },
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: {
        name: 'kube-root-ca.crt',
        ...where,
        annotations: {
          'kubernetes.io/description':
            'Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal ' +
            'service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.',
        },
      },
      data: { 'ca.crt': 'the simulated cluster speaks plain HTTP on loopback: there is no certificate\n' },
    },
  ];
}

function furnish(inner: Inner, object: KubeObject): void {
  const kind = inner.registry.byKind('', object.kind);
  const { namespace = '', name = '' } = object.metadata;
  if (kind === undefined || inner.storage.get(kind.shelf, namespace, name) !== undefined) return;
  inner.objects.create(kind, object, { manager: 'kube-controller-manager', subresource: '', dryRun: false });
}

function onGone(inner: Inner, change: Change): void {
  const name = change.object.metadata.namespace ?? '';
  const namespace = name === '' ? undefined : inner.storage.get(shelf, '', name);
  if (namespace === undefined) return;
  if (namespace.metadata.deletionTimestamp !== undefined) {
    sweep(inner, namespace);
    return;
  }
  const lost = furnishings(namespace).find(
    (object) => shelfOf('', object.kind) === change.kind && object.metadata.name === change.object.metadata.name,
  );
  if (lost !== undefined) furnish(inner, lost);
}

/** Deletes what is in a namespace; when nothing is left, lets the namespace go. */
function sweep(inner: Inner, namespace: KubeObject): void {
  const kinds = inner.registry.stored().filter((kind) => kind.namespaced);
  const name = namespace.metadata.name ?? '';
  const remaining: KubeObject[] = [];
  for (const kind of kinds) {
    for (const object of inner.storage.list(kind.shelf, name)) {
      const where = { namespace: name, name: object.metadata.name ?? '' };
      if (
        object.metadata.deletionTimestamp === undefined &&
        inner.storage.get(kind.shelf, name, where.name) !== undefined
      )
        inner.deletion.delete(kind, where, { propagationPolicy: 'Background' });
      const left = inner.storage.get(kind.shelf, name, where.name);
      if (left !== undefined) remaining.push(left);
    }
  }
  const now = inner.storage.get(shelf, '', name);
  const kind = inner.registry.byKind('', 'Namespace');
  if (now === undefined || kind === undefined) return;
  const next = remaining.length > 0 ? withRemaining(inner, now, remaining) : released(now);
  if (!deepEqual(field(next, 'spec'), field(now, 'spec')) || !deepEqual(field(next, 'status'), field(now, 'status')))
    inner.objects.force(kind, next);
}

function released(namespace: KubeObject): KubeObject {
  const held = field(namespace, 'spec', 'finalizers');
  const rest = (Array.isArray(held) ? held.map(str) : []).filter((name) => name !== 'kubernetes');
  return withField(namespace, 'spec', rest.length === 0 ? {} : { finalizers: rest });
}

function withRemaining(inner: Inner, namespace: KubeObject, remaining: readonly KubeObject[]): KubeObject {
  const byKind = new Map<string, number>();
  const byFinalizer = new Map<string, number>();
  for (const object of remaining) {
    byKind.set(object.kind, (byKind.get(object.kind) ?? 0) + 1);
    for (const name of object.metadata.finalizers ?? []) byFinalizer.set(name, (byFinalizer.get(name) ?? 0) + 1);
  }
  const content = [...byKind].map(([kind, count]) => `${kind} has ${count} resource instances`).join(', ');
  const holders = [...byFinalizer].map(([name, count]) => `${name} in ${count} resource instances`).join(', ');
  const at = timestamp(inner.clock.now());
  const conditions = [
    conditionNow(namespace, at, {
      type: 'NamespaceContentRemaining',
      status: 'True',
      reason: 'SomeResourcesRemain',
      message: `Some resources are remaining: ${content}`,
    }),
    conditionNow(namespace, at, {
      type: 'NamespaceFinalizersRemaining',
      status: holders === '' ? 'False' : 'True',
      reason: holders === '' ? 'ContentHasNoFinalizers' : 'SomeFinalizersRemain',
      message:
        holders === ''
          ? 'All content-preserving finalizers finished'
          : `Some content in the namespace has finalizers remaining: ${holders}`,
    }),
  ];
  return withField(namespace, 'status', { phase: 'Terminating', conditions });
}

function conditionNow(namespace: KubeObject, at: string, condition: JsonObject): JsonObject {
  const before = items(namespace, 'status', 'conditions').find(({ type }) => type === condition['type']);
  const since = before !== undefined && before['status'] === condition['status'] ? before['lastTransitionTime'] : at;
  return { ...condition, lastTransitionTime: since ?? at };
}
