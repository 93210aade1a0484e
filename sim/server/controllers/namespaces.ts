import { deepEqual } from '#base';
import type { JsonObject } from '#base';
import type { KubeObject } from '#model';
import type { SimStore } from '../../types.ts';
import { fieldAt, itemsAt, stringOrEmpty, timestamp, withField } from '../fields.ts';
import type { SimControllerDeps } from './deps.ts';
import { groupKindOf } from '../discovery/registry.ts';
import type { StorageChange } from '../storage/storage.ts';

const namespaceGroupKind = '/Namespace';

/**
 * The namespace controllers: every namespace gets a default ServiceAccount and the root
 * certificate, and a terminating namespace is emptied, then removed (kubernetes:
 * pkg/controller/namespace, serviceaccount, rootcacertpublisher).
 */
export function startNamespaces(deps: SimControllerDeps): () => void {
  return deps.storage.subscribe((change) => {
    if (change.kind === namespaceGroupKind) onNamespace(deps, change);
    else if (change.type === 'DELETED') onGone(deps, change);
  });
}

/** Creates the namespaces and the Service that every cluster has. */
export function createBootstrapObjects(store: SimStore): void {
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

function onNamespace(deps: SimControllerDeps, change: StorageChange): void {
  if (change.type === 'DELETED') return;
  const now = deps.storage.get(namespaceGroupKind, '', change.object.metadata.name ?? '');
  if (now === undefined) return;
  if (now.metadata.deletionTimestamp !== undefined) deleteContent(deps, now);
  else if (change.type === 'ADDED') for (const object of defaultObjects(now)) createIfMissing(deps, object);
}

function defaultObjects(namespace: KubeObject): readonly KubeObject[] {
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
      data: { 'ca.crt': 'the simulated cluster uses plain HTTP on loopback: there is no certificate\n' },
    },
  ];
}

function createIfMissing(deps: SimControllerDeps, object: KubeObject): void {
  const kind = deps.registry.byKind('', object.kind);
  const { namespace = '', name = '' } = object.metadata;
  if (kind === undefined || deps.storage.get(kind.groupKind, namespace, name) !== undefined) return;
  deps.objects.create(kind, object, { manager: 'kube-controller-manager', subresource: '', dryRun: false });
}

function onGone(deps: SimControllerDeps, change: StorageChange): void {
  const name = change.object.metadata.namespace ?? '';
  const namespace = name === '' ? undefined : deps.storage.get(namespaceGroupKind, '', name);
  if (namespace === undefined) return;
  if (namespace.metadata.deletionTimestamp !== undefined) {
    deleteContent(deps, namespace);
    return;
  }
  const lost = defaultObjects(namespace).find(
    (object) => groupKindOf('', object.kind) === change.kind && object.metadata.name === change.object.metadata.name,
  );
  if (lost !== undefined) createIfMissing(deps, lost);
}

/** Deletes the content of a namespace; removes its finalizer when nothing is left. */
function deleteContent(deps: SimControllerDeps, namespace: KubeObject): void {
  const kinds = deps.registry.stored().filter((kind) => kind.namespaced);
  const name = namespace.metadata.name ?? '';
  const remaining: KubeObject[] = [];
  for (const kind of kinds) {
    for (const object of deps.storage.list(kind.groupKind, name)) {
      const where = { namespace: name, name: object.metadata.name ?? '' };
      if (
        object.metadata.deletionTimestamp === undefined &&
        deps.storage.get(kind.groupKind, name, where.name) !== undefined
      )
        deps.deletion.delete(kind, where, { propagationPolicy: 'Background' });
      const left = deps.storage.get(kind.groupKind, name, where.name);
      if (left !== undefined) remaining.push(left);
    }
  }
  const now = deps.storage.get(namespaceGroupKind, '', name);
  const kind = deps.registry.byKind('', 'Namespace');
  if (now === undefined || kind === undefined) return;
  const next = remaining.length > 0 ? withRemaining(deps, now, remaining) : withoutKubernetesFinalizer(now);
  if (
    !deepEqual(fieldAt(next, 'spec'), fieldAt(now, 'spec')) ||
    !deepEqual(fieldAt(next, 'status'), fieldAt(now, 'status'))
  )
    deps.objects.force(kind, next);
}

function withoutKubernetesFinalizer(namespace: KubeObject): KubeObject {
  const held = fieldAt(namespace, 'spec', 'finalizers');
  const rest = (Array.isArray(held) ? held.map(stringOrEmpty) : []).filter((name) => name !== 'kubernetes');
  return withField(namespace, 'spec', rest.length === 0 ? {} : { finalizers: rest });
}

function withRemaining(deps: SimControllerDeps, namespace: KubeObject, remaining: readonly KubeObject[]): KubeObject {
  const byKind = new Map<string, number>();
  const byFinalizer = new Map<string, number>();
  for (const object of remaining) {
    byKind.set(object.kind, (byKind.get(object.kind) ?? 0) + 1);
    for (const name of object.metadata.finalizers ?? []) byFinalizer.set(name, (byFinalizer.get(name) ?? 0) + 1);
  }
  const content = [...byKind].map(([kind, count]) => `${kind} has ${count} resource instances`).join(', ');
  const holders = [...byFinalizer].map(([name, count]) => `${name} in ${count} resource instances`).join(', ');
  const at = timestamp(deps.clock.now());
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
  const before = itemsAt(namespace, 'status', 'conditions').find(({ type }) => type === condition['type']);
  const since = before !== undefined && before['status'] === condition['status'] ? before['lastTransitionTime'] : at;
  return { ...condition, lastTransitionTime: since ?? at };
}
