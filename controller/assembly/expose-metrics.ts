import type { Application } from '#model';
import { exposeApplications, exposeOverdue } from '../report/app-families.ts';
import { ownApplications } from './parts.ts';
import type { ControllerParts } from './parts.ts';
import type { ControllerConfig, ControllerDeps } from './types.ts';

/**
 * Registers the metrics that are computed at each scrape. Returns the Applications that they show.
 */
export function exposeMetrics(
  { metrics, clock }: ControllerDeps,
  config: ControllerConfig,
  { memories, guard, triggers, apps }: Pick<ControllerParts, 'memories' | 'guard' | 'triggers' | 'apps'>,
): ControllerParts['mine'] {
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
  return mine;
}
