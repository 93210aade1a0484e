import type { Application } from '#model';
import { exposeApplications, exposeOverdue } from '../report/app-families.ts';
import { ownApplications } from './parts.ts';
import type { WiredParts } from './parts.ts';
import type { ControllerConfig, ControllerDeps } from './types.ts';

/** Registers the metrics that are computed at each scrape. */
export function exposeMetrics(
  { metrics, clock }: ControllerDeps,
  config: ControllerConfig,
  { memories, guard, triggers, apps }: Pick<WiredParts, 'memories' | 'guard' | 'triggers' | 'apps'>,
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
