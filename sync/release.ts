import { finalizers } from '#model';
import type { KubeObject } from '#model';
import { hasHookFinalizer } from './step.ts';
import type { SyncRequest } from './types.ts';

/** How often a hook is read again because somebody wrote it between our read and our write, and how long to wait before. */
const tries = 5;
const pauseMs = 10;

/**
 * Takes our finalizer off a hook that has it, and returns the hook as it is then; null when it is gone, or when another object has taken its
 * name. The finalizers that others have set stay.
 *
 * The hook is read anew for each try: what the cache says of it may be older than its end, which somebody has just written.
 * Source: gitops-engine/pkg/sync/sync_context.go (removeHookFinalizer).
 * @throws what the cluster answers when it will not do it, a conflict after the last try.
 */
export async function releaseHook(live: KubeObject, request: SyncRequest): Promise<KubeObject | null> {
  if (!hasHookFinalizer(live)) return live;
  const { writer, clock, signal } = request;
  for (let attempt = 1; ; attempt += 1) {
    const fresh = await writer.get(live, signal);
    if (fresh === null || fresh.metadata.uid !== live.metadata.uid) return null;
    if (!hasHookFinalizer(fresh)) return fresh;
    const kept = (fresh.metadata.finalizers ?? []).filter((name) => name !== finalizers.hook);
    try {
      return await writer.patchMetadata(fresh, { finalizers: kept.length > 0 ? kept : null }, signal);
    } catch (error) {
      if (isMissing(error)) return null;
      if (!isConflict(error) || attempt === tries) throw error;
    }
    await clock.sleep(pauseMs, signal);
  }
}

export function isMissing(error: unknown): boolean {
  return (error as { readonly status?: unknown }).status === 404;
}

function isConflict(error: unknown): boolean {
  return (error as { readonly status?: unknown }).status === 409;
}
