import type { CallOptions, KubeClient } from './types.ts';

/** Changes the options of a request. */
export type OptionsChange = <T extends CallOptions>(options: T) => T;

/** Wraps a client, so that options change before each request is made, also as another user. */
export function withOptions(
  client: KubeClient,
  {
    reads = (options) => options,
    writes,
  }: {
    /** For all requests but writes and watches. */
    readonly reads?: OptionsChange;
    readonly writes: OptionsChange;
  },
): KubeClient {
  return {
    server: client.server,
    get: (resource, object, options) => client.get(resource, object, reads(options)),
    list: (resource, options) => client.list(resource, reads(options)),
    podLog: (pod, options) => client.podLog(pod, reads(options)),
    create: (resource, object, options) => client.create(resource, object, writes(options)),
    replace: (resource, object, options) => client.replace(resource, object, writes(options)),
    patch: (resource, object, patch, options) => client.patch(resource, object, patch, writes(options)),
    delete: (resource, object, options) => client.delete(resource, object, writes(options)),
    watch: (resource, options) => client.watch(resource, options),
    discover: (options) => client.discover(reads(options)),
    openApiIndex: (options) => client.openApiIndex(reads(options)),
    openApiDocument: (path, hash, options) => client.openApiDocument(path, hash, reads(options)),
    mayList: (resource, namespace, options) => client.mayList(resource, namespace, reads(options)),
    version: (options) => client.version(reads(options)),
    impersonate: (user) => withOptions(client.impersonate(user), { reads, writes }),
    updateCredentials: (connection) => client.updateCredentials(connection),
    close: () => client.close(),
  };
}
