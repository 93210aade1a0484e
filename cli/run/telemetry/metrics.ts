import { systemClock, UsageError } from '#base';
import { ClientInstruments } from '#kube';
import { EventLoopDelay, labelName, MetricsUpkeep, PromMetrics } from '#telemetry';
import type { Logger } from '#telemetry';
import { packageVersion } from '../../process/root.ts';
import type { RunConfig } from '../../options/run-options.ts';

/** The metrics of a replica, and those that are not part of one module. */
export interface ReplicaMetrics {
  readonly metrics: PromMetrics;
  readonly instruments: ClientInstruments;
  readonly upkeep: MetricsUpkeep;
  readonly eventLoop: EventLoopDelay;
}

export type MetricsConfig = Pick<
  RunConfig,
  'metricsApplicationLabels' | 'metricsClusterLabels' | 'metricsCacheExpiration'
>;

/** @throws UsageError for labels that Argo CD refuses, too. */
export function createMetrics(config: MetricsConfig, logger: Logger): ReplicaMetrics {
  checkLabels('--metrics-application-labels', config.metricsApplicationLabels);
  checkLabels('--metrics-cluster-labels', config.metricsClusterLabels);
  const metrics = new PromMetrics({ clock: systemClock });
  const eventLoop = new EventLoopDelay(systemClock);
  metrics.watchProcess(eventLoop);
  const version = packageVersion();
  metrics.family({
    name: 'argocd_info',
    help: 'ArgoCD version information',
    type: 'gauge',
    collect: () => [{ labels: { version }, value: 1 }],
  });
  const upkeep = new MetricsUpkeep({
    metrics,
    clock: systemClock,
    logger,
    expirationMs: config.metricsCacheExpiration,
  });
  return { metrics, instruments: new ClientInstruments(metrics), upkeep, eventLoop };
}

/** Two labels with one name in Prometheus would make two series of one. */
function checkLabels(flag: string, labels: readonly string[]): void {
  const byName = new Map<string, string>();
  for (const label of labels) {
    const other = byName.get(labelName(label));
    if (other !== undefined)
      throw new UsageError(
        `${flag}: ${other} and ${label} are both ${labelName(label)} in Prometheus, use one of them`,
      );
    byName.set(labelName(label), label);
  }
}
