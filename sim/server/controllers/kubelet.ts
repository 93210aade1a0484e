import type { ClockTimer } from '#base';
import type { SimControllerDeps } from './deps.ts';

/**
 * Pod termination: removes a pod with a grace period after `delayMs`, like a kubelet. Nodes never
 * fail here, so only a finalizer keeps a pod in Terminating.
 */
export function startKubelet(deps: SimControllerDeps, delayMs: number): () => void {
  const ending = new Map<string, ClockTimer>();
  const end = (uid: string, namespace: string, name: string): void => {
    ending.delete(uid);
    const kind = deps.registry.byKind('', 'Pod');
    if (kind === undefined || deps.storage.get(kind.groupKind, namespace, name)?.metadata.uid !== uid) return;
    deps.deletion.delete(kind, { namespace, name }, { gracePeriodSeconds: 0, uid });
  };
  const unsubscribe = deps.storage.subscribe((change) => {
    const { uid = '', namespace = '', name = '', ...meta } = change.object.metadata;
    if (change.kind !== '/Pod') return;
    if (change.type === 'DELETED') {
      ending.get(uid)?.cancel();
      ending.delete(uid);
    } else if (meta.deletionTimestamp !== undefined && (meta.deletionGracePeriodSeconds ?? 0) > 0 && !ending.has(uid)) {
      ending.set(
        uid,
        deps.clock.timer(delayMs, () => end(uid, namespace, name)),
      );
    }
  });
  return () => {
    unsubscribe();
    for (const timer of ending.values()) timer.cancel();
  };
}
