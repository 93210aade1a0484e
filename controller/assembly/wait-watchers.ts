import type { Informer } from '#kube';
import { isReconcileSkipped } from '#model';
import type { OwnershipGuard } from '../admission/ownership-guard.ts';
import { UnownedWarnings } from '../triggers/unowned.ts';
import { WaitWatch } from '../triggers/wait-watch.ts';
import type { WaitWatchDeps } from '../triggers/wait-watch.ts';
import { isWatched } from './parts.ts';
import type { ControllerConfig, ControllerDeps } from './types.ts';

/** Watches for clusters without an owner, and for work of Applications that makes no progress. */
export function makeWaitWatchers(
  deps: ControllerDeps,
  config: ControllerConfig,
  parts: Pick<WaitWatchDeps, 'mine' | 'memories' | 'store'> & {
    readonly apps: Informer;
    readonly guard: OwnershipGuard;
  },
): readonly [UnownedWarnings, WaitWatch] {
  const { apps, guard, mine, memories, store } = parts;
  const unowned = new UnownedWarnings({
    ...deps,
    apps,
    clusterOf: (app) => guard.clusterOf(app),
    isWanted: (app) => isWatched(config, app.metadata.namespace ?? '') && !isReconcileSkipped(app.metadata.annotations),
  });
  return [unowned, new WaitWatch({ ...deps, mine, memories, store, unownedMs: () => unowned.unownedMs() })];
}
