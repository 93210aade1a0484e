import type { KubeObject } from '#model';
import { pathOf } from './discovery.ts';
import type { RemoteStore } from './remote-store.ts';

/**
 * Adds the default ServiceAccount and the root CA to a namespace; empties and finalizes a
 * terminating one.
 */
export function reconcileNamespace(store: RemoteStore, namespace: KubeObject, ca: string): void {
  const name = namespace.metadata.name ?? '';
  if (namespace.metadata.deletionTimestamp !== undefined) empty(store, namespace);
  else {
    furnish(store, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', namespace: name } });
    const root = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'kube-root-ca.crt', namespace: name } };
    furnish(store, { ...root, data: { 'ca.crt': ca } });
  }
}

function furnish(store: RemoteStore, object: KubeObject): void {
  const { namespace = '', name = '' } = object.metadata;
  if (store.get('', object.kind, namespace, name) !== undefined) return;
  attempt(() => store.create(object));
}

function empty(store: RemoteStore, namespace: KubeObject): void {
  const name = namespace.metadata.name ?? '';
  const events = { group: '', version: 'v1', kind: 'Event', resource: 'events', namespaced: true };
  const kinds = [...store.kinds().filter((kind) => kind.namespaced), events];
  for (const kind of kinds) {
    const watched = store.list(kind.group, kind.kind, name);
    if (kind === events || watched.some((object) => object.metadata.deletionTimestamp === undefined))
      attempt(() => store.call('DELETE', pathOf(kind, name)));
  }
  // The caches may be stale: ask the server whether objects are left.
  const left = kinds.some((kind) => attempt(() => remaining(store.call('GET', `${pathOf(kind, name)}?limit=1`))) !== 0);
  if (left) return;
  const now = attempt(() => store.call('GET', `/api/v1/namespaces/${name}`));
  if (now === undefined) return;
  const released = { ...now, spec: { finalizers: [] } };
  attempt(() => store.call('PUT', `/api/v1/namespaces/${name}/finalize`, released));
}

function remaining(list: KubeObject): number {
  return (list as unknown as { readonly items?: readonly unknown[] }).items?.length ?? 0;
}

/** Ignores errors: terminating namespaces are polled until they are gone. */
function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}
