import type { JsonObject } from '#base';
import type { KubeObject } from '#model';

/** The finalizer that deletes the resources of an Application with it. */
export const cascade = 'resources-finalizer.argocd.argoproj.io';

/** Annotations of a hook of these types. */
export const hook = (types: string): Record<string, string> => ({ 'argocd.argoproj.io/hook': types });

/** Annotations of an object of this wave. */
export const wave = (n: number): Record<string, string> => ({ 'argocd.argoproj.io/sync-wave': String(n) });

/** A Job with these annotations, usually of a {@link hook}; without a status it never ends. */
export const job = (name: string, annotations: Record<string, string>, status: JsonObject = {}): KubeObject => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name, annotations },
  spec: {},
  status,
});

/** The status of a Job that has ended well, and of one that has failed. */
export const succeeded = { conditions: [{ type: 'Complete', status: 'True' }] };
export const failed = { conditions: [{ type: 'Failed', status: 'True', message: 'no' }] };
