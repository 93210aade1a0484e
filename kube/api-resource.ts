import type { ApiResource } from '#model';

/**
 * The resource of a well-known kind, for callers that must not wait for discovery (our own CRDs, ConfigMaps, Secrets, Leases):
 * `apiResource('apps', 'v1', 'Deployment', 'deployments', true)`. All verbs and the `status` subresource are taken for granted: what the
 * server really allows, its answers tell.
 */
export function apiResource(
  ...[group, version, kind, resource, namespaced]: [
    group: string,
    version: string,
    kind: string,
    resource: string,
    namespaced: boolean,
  ]
): ApiResource {
  return {
    group,
    version,
    kind,
    resource,
    namespaced,
    verbs: ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'],
    subresources: ['status'],
    shortNames: [],
  };
}
