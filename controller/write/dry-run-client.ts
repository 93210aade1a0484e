import type { KubeClient } from '#kube';

/**
 * Wraps a client so that it cannot change anything: every write is sent as a dry run, whatever the
 * options. Used for dry-run operations (see GuardedWriter), so that no bug in a sync step can
 * write.
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
