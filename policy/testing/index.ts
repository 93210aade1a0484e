import type { AppProject, AppProjectSpec } from '#model';

/** Any JSON in the place of a spec: tables hold what no schema would let pass, too. */
export type Loose = { readonly [K in keyof AppProjectSpec]?: unknown };

export function projectWith(spec: Loose, metadata: AppProject['metadata'] = { name: 'p' }): AppProject {
  return { apiVersion: 'argoproj.io/v1alpha1', kind: 'AppProject', metadata, spec: spec as AppProjectSpec };
}

/** What is no list of texts, nor of objects. */
export const garbage: readonly unknown[] = [
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
