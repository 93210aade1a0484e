import { newAbortController, OwnershipLost, untilAborted } from '#base';
import type { Runnable } from '#base';
import { appLogFields, appKeyOf, appKeyOfInstance, instanceName } from '#model';
import type { AppKey, Application } from '#model';
import type { OwnershipFence } from '#publish';
import type { WorkQueue } from '#queues';
import type { OwnershipGuard } from '../admission/ownership-guard.ts';
import { compareLevel } from '../application/freshness.ts';
import type { RefreshRequest } from '../application/freshness.ts';
import type { ControllerConfig, ControllerDeps } from './types.ts';

/** Writes that a stop must not cut off share it, so it takes any number of listeners. */
export const neverAborted: AbortSignal = newAbortController().signal;

/** Guards publishing with the ownership of the Application as cached at that moment. */
export function publishFence(
  guard: OwnershipGuard,
  current: () => Application | undefined,
  key: AppKey,
): OwnershipFence {
  return (send) => {
    const app = current();
    if (app === undefined) return Promise.reject(new OwnershipLost(`application ${key}, which is gone`));
    return guard.toApplication(app, neverAborted, ({ signal, beforeSend }) => send(signal, beforeSend));
  };
}

/**
 * Removes the published state of a deleted application; another replica may already own a new one
 * with the same name.
 */
export async function unpublish(
  deps: ControllerDeps,
  config: ControllerConfig,
  gone: { readonly guard: OwnershipGuard; readonly app: Application; readonly current: () => Application | undefined },
  signal: AbortSignal,
): Promise<void> {
  const key = appKeyOf(gone.app);
  const fence = publishFence(gone.guard, () => gone.current() ?? gone.app, key);
  try {
    await deps.publisher.remove(instanceName(key, config.namespace), { signal, fence });
  } catch (error) {
    if (!signal.aborted)
      deps.logger.warn('Unable to remove the published state of an application', { ...appLogFields(gone.app), error });
  }
}

/** Refreshes applications whose published state was lost and is not in memory. */
export function recompareLostPublications(
  { publisher }: ControllerDeps,
  config: ControllerConfig,
  refresh: WorkQueue<AppKey, RefreshRequest>,
): Runnable {
  return {
    name: 'published again',
    run: async (signal) => {
      const stop = publisher.onLost((instance) => {
        const payload = { level: compareLevel.recent, reason: 'its published state was lost' };
        refresh.add(appKeyOfInstance(instance, config.namespace), { payload, priority: 'resync' });
      });
      await untilAborted(signal);
      stop();
    },
  };
}
