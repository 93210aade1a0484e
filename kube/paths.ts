import type { ApiResource } from '#model';
import { KubeRequestError } from './errors.ts';

/** Query parameters; undefined and '' are left out. */
export type QueryParameters = Readonly<Record<string, string | number | boolean | undefined>>;

/**
 * URL path of a collection (without name), an object, or a subresource. Case is kept and each
 * segment is encoded by itself: RBAC names contain capitals and colons.
 * @throws KubeRequestError for a namespaced kind without a required namespace, and for invalid
 * names.
 */
export function resourcePath(
  resource: ApiResource,
  where: { readonly namespace?: string; readonly name?: string; readonly subresource?: string },
): string {
  const { namespace = '', name, subresource } = where;
  const root = resource.group === '' ? '/api' : `/apis/${encodeURIComponent(resource.group)}`;
  const scope = resource.namespaced && namespace !== '' ? `/namespaces/${encodeSegment(namespace, 'namespace')}` : '';
  let path = `${root}/${encodeURIComponent(resource.version)}${scope}/${encodeURIComponent(resource.resource)}`;
  if (name !== undefined) path += `/${encodeSegment(name, `${resource.kind} name`)}`;
  if (subresource !== undefined) path += `/${encodeURIComponent(subresource)}`;
  return path;
}

export function withQuery(path: string, query: QueryParameters): string {
  const parts: string[] = [];
  for (const [key, value] of Object.entries(query))
    if (value !== undefined && value !== '') parts.push(`${encodeURIComponent(key)}=${encodeURIComponent(value)}`);
  return parts.length === 0 ? path : `${path}?${parts.join('&')}`;
}

/** Encodes a path segment, except for colons, like kubectl. */
function encodeSegment(text: string, what: string): string {
  if (text === '' || text === '.' || text === '..') throw new KubeRequestError(`"${text}" is not a ${what}`);
  return encodeURIComponent(text).replaceAll('%3A', ':');
}
