import type { KubeClient } from '#kube';

/**
 * The same client, through which nothing can be changed: every write is sent as a dry run, whatever its caller asks for. What a dry-run
 * operation works with (see GuardedWriter), so that no mistake in the steps of a sync can write.
 */
export function dryRunOnly(client: KubeClient): KubeClient {
  return {
    server: client.server,
    get: (resource, object, options) => client.get(resource, object, options),
    list: (resource, options) => client.list(resource, options),
    create: (resource, object, options) => client.create(resource, object, { ...options, dryRun: true }),
    replace: (resource, object, options) => client.replace(resource, object, { ...options, dryRun: true }),
    patch: (resource, object, patch, options) => client.patch(resource, object, patch, { ...options, dryRun: true }),
    delete: (resource, object, options) => client.delete(resource, object, { ...options, dryRun: true }),
    watch: (resource, options) => client.watch(resource, options),
    discover: (options) => client.discover(options),
    openApiIndex: (options) => client.openApiIndex(options),
    openApiDocument: (path, hash, options) => client.openApiDocument(path, hash, options),
    mayList: (resource, namespace, options) => client.mayList(resource, namespace, options),
    version: (options) => client.version(options),
    impersonate: (user) => dryRunOnly(client.impersonate(user)),
    updateCredentials: (connection) => client.updateCredentials(connection),
    close: () => client.close(),
  };
}
