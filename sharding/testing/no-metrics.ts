import type { Metrics } from '#telemetry';

const ignore = (): void => undefined;

/** Metrics that nobody reads. */
export const noMetrics: Metrics = {
  expose: () => Promise.resolve(''),
  counter: () => ({ inc: ignore, remove: ignore }),
  gauge: () => ({ set: ignore, inc: ignore, remove: ignore }),
  histogram: () => ({ observe: ignore, remove: ignore }),
  family: ignore,
};
