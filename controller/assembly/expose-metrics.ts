import type { Application } from '#model';
import type { OwnershipGuard } from '../admission/ownership-guard.ts';
import type { AppMemories } from '../comparison/memory.ts';
import { exposeApplications, exposeOverdue } from '../report/app-families.ts';
import { ownApplications } from './parts.ts';
import type { ControllerParts } from './parts.ts';
import type { ControllerConfig, ControllerDeps } from './types.ts';

interface ShownParts extends Pick<ControllerParts, 'triggers' | 'apps'> {
  readonly memories: AppMemories;
  readonly guard: OwnershipGuard;
}

/** Registers the metrics that are computed at each scrape. */
export function exposeMetrics(
  { metrics, clock }: ControllerDeps,
  config: ControllerConfig,
  { memories, guard, triggers, apps }: ShownParts,
): void {
  const mine = ownApplications(triggers, apps);
  const serverOf = (app: Application): string | undefined => guard.clusterOf(app)?.server;
  const { applicationLabels: labels = [], applicationConditions: conditions = [] } = config.metrics ?? {};
  exposeApplications(metrics, { mine, serverOf, labels, conditions });
  exposeOverdue(metrics, {
    mine,
    serverOf,
    comparedAt: (key) => memories.peek(key)?.comparedAt,
    now: () => clock.now(),
    resyncMs: config.appResyncMs > 0 ? config.appResyncMs : config.hardResyncMs,
  });
}
