const noMetric = (): { inc: () => void; set: () => void; remove: () => void; observe: () => void } => ({
  inc: () => undefined,
  set: () => undefined,
  remove: () => undefined,
  observe: () => undefined,
});

/** Metrics that nobody reads. */
export const noMetrics = {
  expose: () => Promise.resolve(''),
  counter: noMetric,
  gauge: noMetric,
  histogram: noMetric,
  family: () => undefined,
};
