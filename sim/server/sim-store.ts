import { groupOf, versionOf } from '#model';
import type { KubeObject } from '#model';
import type { SchemaBook, SimStore } from '../types.ts';
import type { ObjectDeleter } from './storage/deletion.ts';
import type { ObjectStore } from './storage/objects.ts';
import type { KindRegistry, ServedKind } from './discovery/registry.ts';
import { badRequestError, SimError } from './status.ts';
import type { RevisionedStorage } from './storage/storage.ts';

export interface SimStoreDeps {
  readonly storage: RevisionedStorage;
  readonly registry: KindRegistry;
  readonly objects: ObjectStore;
  readonly deletion: ObjectDeleter;
  readonly book: SchemaBook;
}

/** In-process access to a cluster: the rules of the HTTP server, without the network. */
export function createSimStore({ storage, registry, objects, deletion, book }: SimStoreDeps): SimStore {
  const need = (group: string, kind: string): ServedKind => {
    const served = registry.byKind(group, kind);
    if (served !== undefined) return served;
    throw new SimError(404, 'NotFound', `no matches for kind "${kind}" in group "${group}"`, {});
  };
  const kindOf = (object: KubeObject): ServedKind => {
    const group = groupOf(object.apiVersion);
    return registry.byVersion(group, versionOf(object.apiVersion), object.kind) ?? need(group, object.kind);
  };
  const decoded = (kind: ServedKind, object: KubeObject): KubeObject => {
    const result = book.decode(kind, object);
    if (result.typeError === undefined) return result.object;
    throw badRequestError(
      `${kind.kind} in version "${kind.version}" cannot be handled as a ${kind.kind}: ${result.typeError}`,
    );
  };
  return {
    get: (group, kind, namespace, name) => {
      const served = registry.byKind(group, kind);
      return served === undefined ? undefined : storage.get(served.groupKind, namespace, name);
    },
    list: (group, kind, namespace) => {
      const served = registry.byKind(group, kind);
      return served === undefined ? [] : storage.list(served.groupKind, namespace ?? '');
    },
    create: (object, manager = 'sim') => {
      const kind = kindOf(object);
      return objects.create(kind, decoded(kind, object), { manager, subresource: '', dryRun: false });
    },
    update: (object, options = {}) => {
      const kind = kindOf(object);
      const { namespace = '', name = '' } = object.metadata;
      const how = { manager: options.manager ?? 'sim', subresource: options.subresource ?? '', dryRun: false } as const;
      return objects.update(kind, { namespace, name }, () => decoded(kind, object), how);
    },
    // eslint-disable-next-line max-params -- the signature of SimStore
    delete: (group, kind, namespace, name, options = {}) => {
      deletion.delete(need(group, kind), { namespace, name }, options);
    },
    subscribe: (listener) => storage.subscribe(listener),
  };
}
