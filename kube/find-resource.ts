import { apiVersionOf } from '#model';
import type { ApiResource, GroupKind } from '#model';
import type { ApiDiscovery } from './types.ts';

type Lists = Pick<ApiDiscovery, 'preferred' | 'served'>;

interface Index {
  readonly preferred: ReadonlyMap<string, ApiResource>;
  readonly exact: ReadonlyMap<string, ApiResource>;
}

/** A discovery is asked thousands of times and never changes: its index is made at the first question and goes with it. */
const indexes = new WeakMap<Lists, Index>();

/**
 * The resource that serves a kind: with `version` exactly that one, else the preferred. Of several resources of one kind the first.
 * Undefined when the server does not serve it.
 */
export function findResource(discovery: Lists, gk: GroupKind, version?: string): ApiResource | undefined {
  const index = indexOf(discovery);
  return version === undefined ? index.preferred.get(kindKey(gk)) : index.exact.get(exactKey(gk, version));
}

function indexOf(discovery: Lists): Index {
  const known = indexes.get(discovery);
  if (known !== undefined) return known;
  const preferred = new Map<string, ApiResource>();
  const exact = new Map<string, ApiResource>();
  for (const resource of discovery.preferred) keepFirst(preferred, kindKey(resource), resource);
  for (const resource of discovery.served) keepFirst(exact, exactKey(resource, resource.version), resource);
  const index = { preferred, exact };
  indexes.set(discovery, index);
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
