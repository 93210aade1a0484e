import type { MetricRegistry } from '#telemetry';
import type { ApplicationVerdict } from '../application-types.ts';
import { verdictCauses } from './causes.ts';
import type { VerdictCause } from './causes.ts';

/** Counts the Applications of this replica by verdict and cause, at each scrape. */
export function exposeVerdicts(metrics: MetricRegistry, verdicts: () => Iterable<ApplicationVerdict>): void {
  metrics.family({
    name: 'driftless_application_verdicts',
    help: 'Applications of this replica by verdict (healthy, waiting, broken) and its cause.',
    type: 'gauge',
    *collect() {
      const counts = new Map<VerdictCause, number>();
      for (const { cause } of verdicts()) {
        counts.set(cause, (counts.get(cause) ?? 0) + 1);
        yield undefined;
      }
      for (const [cause, value] of counts) yield { labels: { verdict: verdictCauses[cause], cause }, value };
    },
  });
}
