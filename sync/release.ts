import { finalizers } from '#model';
import type { KubeObject } from '#model';
import { hasHookFinalizer } from './step.ts';
import type { SyncRequest } from './types.ts';

/** Attempts to update a hook after conflicts, and the delay between them. */
const maxReleaseAttempts = 5;
const retryDelayMs = 10;

/** Dependencies of {@link removeHookFinalizer}. */
export interface HookReleaseDeps {
  readonly writer: Pick<SyncRequest['writer'], 'get' | 'patchMetadata'>;
  readonly clock: Pick<SyncRequest['clock'], 'sleep'>;
  readonly signal: AbortSignal;
}

/**
 * Removes our finalizer from a hook and returns the updated hook; null if it is gone or another
 * object has its name. Finalizers of others stay. Reads the hook before each attempt, because the
 * cache may be older than its last change.
 *
 * Source: gitops-engine/pkg/sync/sync_context.go (removeHookFinalizer).
 * @throws the error of the API server; a conflict after the last attempt.
 */
export async function removeHookFinalizer(
  live: KubeObject,
  { writer, clock, signal }: HookReleaseDeps,
): Promise<KubeObject | null> {
  if (!hasHookFinalizer(live)) return live;
  for (let attempt = 1; ; attempt += 1) {
    const fresh = await writer.get(live, signal);
    if (fresh === null || fresh.metadata.uid !== live.metadata.uid) return null;
    if (!hasHookFinalizer(fresh)) return fresh;
    const kept = (fresh.metadata.finalizers ?? []).filter((name) => name !== finalizers.hook);
    try {
      return await writer.patchMetadata(fresh, { finalizers: kept.length > 0 ? kept : null }, signal);
    } catch (error) {
      if (isMissing(error)) return null;
      if (!isConflict(error) || attempt === maxReleaseAttempts) throw error;
    }
    await clock.sleep(retryDelayMs, signal);
  }
}

/**
 * Deletes a hook whose finalizer was removed. False: it was gone.
 *
 * @throws the error of the API server, except 404; an error if the object is no longer our hook.
 */
export async function deleteLive(live: KubeObject, { writer, options, signal }: SyncRequest): Promise<boolean> {
  try {
    const deletion = await writer.delete(live, options.prunePropagationPolicy, signal);
    if (deletion === 'changed') throw new Error('its tracking, owners or annotations changed since it was read');
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

export function isMissing(error: unknown): boolean {
  return (error as { readonly status?: unknown }).status === 404;
}

function isConflict(error: unknown): boolean {
  return (error as { readonly status?: unknown }).status === 409;
}
