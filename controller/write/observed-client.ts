import type { CallOptions, KubeClient } from '#kube';

/**
 * A client that reports each of its requests, retries included. Watches are not reported: the
 * cluster caches have their own.
 */
export function observedClient(client: KubeClient, onRequest: NonNullable<CallOptions['onRequest']>): KubeClient {
  return {
    server: client.server,
    get: (resource, object, options) => client.get(resource, object, { ...options, onRequest }),
    list: (resource, options) => client.list(resource, { ...options, onRequest }),
    create: (resource, object, options) => client.create(resource, object, { ...options, onRequest }),
    replace: (resource, object, options) => client.replace(resource, object, { ...options, onRequest }),
    patch: (resource, object, patch, options) => client.patch(resource, object, patch, { ...options, onRequest }),
    delete: (resource, object, options) => client.delete(resource, object, { ...options, onRequest }),
    watch: (resource, options) => client.watch(resource, options),
    discover: (options) => client.discover({ ...options, onRequest }),
    openApiIndex: (options) => client.openApiIndex({ ...options, onRequest }),
    openApiDocument: (path, hash, options) => client.openApiDocument(path, hash, { ...options, onRequest }),
    mayList: (resource, namespace, options) => client.mayList(resource, namespace, { ...options, onRequest }),
    version: (options) => client.version({ ...options, onRequest }),
    impersonate: (user) => observedClient(client.impersonate(user), onRequest),
    updateCredentials: (connection) => client.updateCredentials(connection),
    close: () => client.close(),
  };
}
