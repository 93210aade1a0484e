import { withOptions } from '#kube';
import type { KubeClient } from '#kube';
import type { AgentRecord } from './agent-record.ts';

/**
 * Wraps a client so that the record is checked right before each attempt of a write is sent: after
 * SIGCONT or a suspend of the machine, a write may come before any timer. Each write waits until
 * the record names the commit that it comes from.
 */
export function fencedClient(client: KubeClient, record: Pick<AgentRecord, 'check' | 'revisionStored'>): KubeClient {
  const checked = withOptions(client, {
    writes: (options) => ({
      ...options,
      beforeSend: () => {
        record.check();
        options.beforeSend?.();
      },
    }),
  });
  const afterRecord = async <T>({ signal }: { readonly signal: AbortSignal }, write: () => Promise<T>): Promise<T> => {
    await record.revisionStored(signal);
    return write();
  };
  return {
    ...checked,
    create: (resource, object, options) => afterRecord(options, () => checked.create(resource, object, options)),
    replace: (resource, object, options) => afterRecord(options, () => checked.replace(resource, object, options)),
    patch: (resource, at, patch, options) => afterRecord(options, () => checked.patch(resource, at, patch, options)),
    delete: (resource, at, options) => afterRecord(options, () => checked.delete(resource, at, options)),
    impersonate: (user) => fencedClient(client.impersonate(user), record),
  };
}
