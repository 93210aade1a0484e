import type { ApiResource } from '#model';

/**
 * Resource of a well-known kind, for callers that must not wait for discovery (our CRDs,
 * ConfigMaps, Secrets, Leases): `apiResource('apps/v1', 'Deployment', 'deployments',
 * 'namespaced')`. Assumes all verbs and the `status` subresource; responses show what the server
 * allows.
 */
export function apiResource(
  apiVersion: string,
  kind: string,
  resource: string,
  scope: 'namespaced' | 'cluster',
): ApiResource {
  const slash = apiVersion.indexOf('/');
  return {
    group: apiVersion.slice(0, Math.max(slash, 0)),
    version: apiVersion.slice(slash + 1),
    kind,
    resource,
    namespaced: scope === 'namespaced',
    verbs: ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'],
    subresources: ['status'],
    shortNames: [],
  };
}
