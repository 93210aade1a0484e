import { withOptions } from '#kube';
import type { KubeClient } from '#kube';
import type { KindsInUse } from '#live';
import type { ApiResource } from '#model';
import type { AgentRecord } from './agent-record.ts';

/**
 * Wraps a client so that the record is checked right before each attempt of a write is sent: after
 * SIGCONT or a suspend of the machine, a write may come before any timer. Each write waits until
 * the record names its kind, and the commit that it comes from.
 */
export function fencedClient(
  client: KubeClient,
  record: Pick<AgentRecord, 'check' | 'stored'>,
  kinds: Pick<KindsInUse, 'add'>,
): KubeClient {
  const checked = withOptions(client, {
    writes: (options) => ({
      ...options,
      beforeSend: () => {
        record.check();
        options.beforeSend?.();
      },
    }),
  });
  const recorded = async <T>(
    resource: ApiResource,
    { signal }: { readonly signal: AbortSignal },
    write: () => Promise<T>,
  ): Promise<T> => {
    kinds.add([resource]);
    await record.stored(signal);
    return write();
  };
  return {
    ...checked,
    create: (resource, object, options) => recorded(resource, options, () => checked.create(resource, object, options)),
    replace: (resource, object, options) =>
      recorded(resource, options, () => checked.replace(resource, object, options)),
    patch: (resource, at, patch, options) =>
      recorded(resource, options, () => checked.patch(resource, at, patch, options)),
    delete: (resource, at, options) => recorded(resource, options, () => checked.delete(resource, at, options)),
    impersonate: (user) => fencedClient(client.impersonate(user), record, kinds),
  };
}
