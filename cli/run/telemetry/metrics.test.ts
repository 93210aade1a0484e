import { expect, it } from '@jest/globals';
import { UsageError } from '#base';
import { silentLogger } from '#telemetry';
import { createMetrics } from './metrics.ts';

const config = { metricsApplicationLabels: ['team'], metricsClusterLabels: ['env'], metricsCacheExpiration: 0 };

it.each([
  ['--metrics-application-labels', { metricsApplicationLabels: ['a/b', 'c', 'a.b'] }, 'a/b and a.b are both label_a_b'],
  ['--metrics-cluster-labels', { metricsClusterLabels: ['x', 'x'] }, 'x and x are both label_x'],
])('refuses two labels of %s with one name in Prometheus', (flag, over, expected) => {
  const create = (): unknown => createMetrics({ ...config, ...over }, silentLogger);
  expect(create).toThrow(UsageError);
  expect(create).toThrow(`${flag}: ${expected} in Prometheus`);
});
