import type { Timer } from '#base';
import type { Inner } from './inner.ts';

/**
 * The end of pods: a pod that was given grace has ended `delayMs` later, and is then removed, as a kubelet would do. A node is never lost
 * here, so no pod stays in Terminating unless a finalizer holds it.
 */
export function startKubelet(inner: Inner, delayMs: number): () => void {
  const ending = new Map<string, Timer>();
  const end = (uid: string, namespace: string, name: string): void => {
    ending.delete(uid);
    const kind = inner.registry.byKind('', 'Pod');
    if (kind === undefined || inner.storage.get(kind.shelf, namespace, name)?.metadata.uid !== uid) return;
    inner.deletion.delete(kind, { namespace, name }, { gracePeriodSeconds: 0, uid });
  };
  const unsubscribe = inner.storage.subscribe((change) => {
    const { uid = '', namespace = '', name = '', ...meta } = change.object.metadata;
    if (change.kind !== '/Pod') return;
    if (change.type === 'DELETED') {
      ending.get(uid)?.cancel();
      ending.delete(uid);
    } else if (meta.deletionTimestamp !== undefined && (meta.deletionGracePeriodSeconds ?? 0) > 0 && !ending.has(uid)) {
      ending.set(
        uid,
        inner.clock.timer(delayMs, () => end(uid, namespace, name)),
      );
    }
  });
  return () => {
    unsubscribe();
    for (const timer of ending.values()) timer.cancel();
  };
}
