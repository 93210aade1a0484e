import { withOptions } from '#kube';
import type { KubeClient } from '#kube';

/**
 * Wraps a client so that `check` runs right before each attempt of a write is sent, and can refuse
 * it by throwing. After SIGCONT or a suspend of the machine, a write may come before any timer.
 */
export function fencedClient(client: KubeClient, check: () => void): KubeClient {
  return withOptions(client, {
    writes: (options) => ({
      ...options,
      beforeSend: () => {
        check();
        options.beforeSend?.();
      },
    }),
  });
}
