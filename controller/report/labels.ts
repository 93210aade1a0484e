import { projectOf } from '#model';
import type { Application } from '#model';

/**
 * The server of an Application's destination cluster, also if given by name; undefined when it
 * cannot be resolved.
 */
export type ServerOf = (app: Application) => string | undefined;

/** Buckets of Argo CD's durations of reconciliation, in seconds. */
export const reconcileBuckets = [0.25, 0.5, 1, 2, 4, 8, 16];

/** Labels that each metric of one Application has. */
export function labelsOf(app: Application): {
  readonly namespace: string;
  readonly name: string;
  readonly project: string;
} {
  return {
    namespace: app.metadata.namespace ?? '',
    name: app.metadata.name ?? '',
    project: projectOf(app),
  };
}
