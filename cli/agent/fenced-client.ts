import type { CallOptions, KubeClient } from '#kube';

/**
 * Wraps a client so that `check` runs right before each attempt of a write is sent, and can refuse
 * it by throwing. After SIGCONT or a suspend of the machine, a write may come before any timer.
 */
export function fencedClient(client: KubeClient, check: () => void): KubeClient {
  const fenced = <T extends CallOptions>(options: T): T => ({
    ...options,
    beforeSend: () => {
      check();
      options.beforeSend?.();
    },
  });
  return {
    server: client.server,
    get: (resource, object, options) => client.get(resource, object, options),
    list: (resource, options) => client.list(resource, options),
    create: (resource, object, options) => client.create(resource, object, fenced(options)),
    replace: (resource, object, options) => client.replace(resource, object, fenced(options)),
    patch: (resource, object, patch, options) => client.patch(resource, object, patch, fenced(options)),
    delete: (resource, object, options) => client.delete(resource, object, fenced(options)),
    watch: (resource, options) => client.watch(resource, options),
    discover: (options) => client.discover(options),
    openApiIndex: (options) => client.openApiIndex(options),
    openApiDocument: (path, hash, options) => client.openApiDocument(path, hash, options),
    mayList: (resource, namespace, options) => client.mayList(resource, namespace, options),
    version: (options) => client.version(options),
    impersonate: (user) => fencedClient(client.impersonate(user), check),
    updateCredentials: (connection) => client.updateCredentials(connection),
    close: () => client.close(),
  };
}
