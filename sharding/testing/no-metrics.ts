import type { MetricRegistry } from '#telemetry';

const ignore = (): void => undefined;

/** Discards all metrics. */
export const noMetrics: MetricRegistry = {
  counter: () => ({ inc: ignore, remove: ignore }),
  gauge: () => ({ set: ignore, inc: ignore, remove: ignore }),
  histogram: () => ({ observe: ignore, remove: ignore }),
  family: ignore,
  dropWhen: ignore,
};
