import type { AppProject, AppProjectSpec } from '#model';

/** Any JSON as a spec: test tables also contain values that the schema rejects. */
export type LooseSpec = { readonly [K in keyof AppProjectSpec]?: unknown };

export function projectWith(spec: LooseSpec, metadata: AppProject['metadata'] = { name: 'p' }): AppProject {
  return { apiVersion: 'argoproj.io/v1alpha1', kind: 'AppProject', metadata, spec: spec as AppProjectSpec };
}

/** Values that are neither a list of strings nor of objects. */
export const invalidLists: readonly unknown[] = [
  '*',
  '**',
  5,
  true,
  {},
  { 0: '*', length: 1 },
  [[]],
  [['*']],
  [{}],
  [5],
  [null],
  [true],
];
export { isResourcePermitted } from './resources.ts';
export { nextActivation, parseCron } from '../cron.ts';
