import type { Area } from '../area.ts';
import { diffArea, dryRunArea } from './diff.ts';
import { healthArea } from './health.ts';
import { cronArea, projectArea, windowsArea } from './policy.ts';
import { quantityArea, shardingArea, trackingArea } from './small.ts';
import { syncArea } from './sync.ts';

/** Every area, those whose differences do the most harm first. */
export const areas: readonly Area[] = [
  ...[diffArea, dryRunArea, healthArea, syncArea, projectArea, windowsArea],
  ...[trackingArea, shardingArea, quantityArea, cronArea],
];
