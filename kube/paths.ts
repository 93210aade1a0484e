import type { ApiResource } from '#model';
import { KubeRequestError } from './errors.ts';

/** Query members; undefined and "" are left out. */
export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/**
 * URL path of a collection (no name), an object, or a subresource. Case is kept and every segment is encoded by itself: RBAC names
 * hold capitals and colons (T-JS-3).
 * @throws KubeRequestError for a namespaced kind without namespace where one is needed, and for names that no server takes.
 */
export function resourcePath(
  resource: ApiResource,
  where: { readonly namespace?: string; readonly name?: string; readonly subresource?: string },
): string {
  const { namespace = '', name, subresource } = where;
  const root = resource.group === '' ? '/api' : `/apis/${encodeURIComponent(resource.group)}`;
  const scope = resource.namespaced && namespace !== '' ? `/namespaces/${segment(namespace, 'namespace')}` : '';
  let path = `${root}/${encodeURIComponent(resource.version)}${scope}/${encodeURIComponent(resource.resource)}`;
  if (name !== undefined) path += `/${segment(name, `${resource.kind} name`)}`;
  if (subresource !== undefined) path += `/${encodeURIComponent(subresource)}`;
  return path;
}

export function withQuery(path: string, query: Query): string {
  const parts: string[] = [];
  for (const [key, value] of Object.entries(query))
    if (value !== undefined && value !== '') parts.push(`${encodeURIComponent(key)}=${encodeURIComponent(value)}`);
  return parts.length === 0 ? path : `${path}?${parts.join('&')}`;
}

/** As kubectl writes it: a colon stays as it is. */
function segment(text: string, what: string): string {
  if (text === '' || text === '.' || text === '..') throw new KubeRequestError(`"${text}" is not a ${what}`);
  return encodeURIComponent(text).replaceAll('%3A', ':');
}
