import { groupOf, versionOf } from '#model';
import type { KubeObject } from '#model';
import type { SchemaBook, SimStore } from '../types.ts';
import type { Deletion } from './deletion.ts';
import type { Objects } from './objects.ts';
import type { Registry, ServedKind } from './registry.ts';
import { badRequest, SimError } from './status.ts';
import type { Storage } from './storage.ts';

export interface SimStoreDeps {
  readonly storage: Storage;
  readonly registry: Registry;
  readonly objects: Objects;
  readonly deletion: Deletion;
  readonly book: SchemaBook;
}

/** In-process access to a cluster: the same rules as over HTTP, without the network. */
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
    throw badRequest(
      `${kind.kind} in version "${kind.version}" cannot be handled as a ${kind.kind}: ${result.typeError}`,
    );
  };
  return {
    get: (group, kind, namespace, name) => {
      const served = registry.byKind(group, kind);
      return served === undefined ? undefined : storage.get(served.shelf, namespace, name);
    },
    list: (group, kind, namespace) => {
      const served = registry.byKind(group, kind);
      return served === undefined ? [] : storage.list(served.shelf, namespace ?? '');
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
    // eslint-disable-next-line max-params -- as SimStore says
    delete: (group, kind, namespace, name, options = {}) => {
      deletion.delete(need(group, kind), { namespace, name }, options);
    },
    subscribe: (listener) => storage.subscribe(listener),
  };
}
