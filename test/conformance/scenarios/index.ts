/** All scenarios by group; each group has its recording. */
import type { ConformanceScenario } from '../scenario.ts';
import { applies } from './apply.ts';
import { custom } from './custom.ts';
import { defaults } from './defaults.ts';
import { discovery } from './discovery.ts';
import { lists } from './lists.ts';
import { objects } from './objects.ts';
import { patches } from './patches.ts';
import { refusals } from './refusals.ts';
import { subresources } from './subresources.ts';
import { validation } from './validation.ts';

export const groups: Readonly<Record<string, readonly ConformanceScenario[]>> = {
  apply: applies,
  custom,
  defaults,
  discovery,
  lists,
  objects,
  patches,
  refusals,
  subresources,
  validation,
};
