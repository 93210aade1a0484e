import { apiVersionOf } from '#model';
import type { ApiResource, GroupKind } from '#model';
import type { ApiDiscovery } from '../types.ts';

type ResourceLists = Pick<ApiDiscovery, 'preferred' | 'served'>;

interface ResourceIndex {
  readonly preferred: ReadonlyMap<string, ApiResource>;
  readonly exact: ReadonlyMap<string, ApiResource>;
}

/**
 * A discovery is immutable and queried thousands of times, so its index is built once and cached
 * with it.
 */
const indexCache = new WeakMap<ResourceLists, ResourceIndex>();

/**
 * Finds the resource of a kind: in exactly `version` if given, otherwise in the preferred version.
 * If several resources have the kind, the first. Undefined if the server does not serve it.
 */
export function findResource(discovery: ResourceLists, gk: GroupKind, version?: string): ApiResource | undefined {
  const index = indexOf(discovery);
  return version === undefined ? index.preferred.get(kindKey(gk)) : index.exact.get(exactKey(gk, version));
}

function indexOf(discovery: ResourceLists): ResourceIndex {
  const known = indexCache.get(discovery);
  if (known !== undefined) return known;
  const preferred = new Map<string, ApiResource>();
  const exact = new Map<string, ApiResource>();
  for (const resource of discovery.preferred) keepFirst(preferred, kindKey(resource), resource);
  for (const resource of discovery.served) keepFirst(exact, exactKey(resource, resource.version), resource);
  const index = { preferred, exact };
  indexCache.set(discovery, index);
  return index;
}

function kindKey({ group, kind }: GroupKind): string {
  return `${group}/${kind}`;
}

function exactKey({ group, kind }: GroupKind, version: string): string {
  return `${apiVersionOf(group, version)}/${kind}`;
}

function keepFirst(map: Map<string, ApiResource>, key: string, value: ApiResource): void {
  if (!map.has(key)) map.set(key, value);
}
