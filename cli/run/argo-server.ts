import { lookup } from 'node:dns/promises';
import type { Clock } from '#base';

/** Names of the Service of Argo CD's API server: of its manifests, its chart, and its operators. */
const serviceNames = ['argocd-server', 'argo-cd-argocd-server', 'openshift-gitops-server'];
const freshMs = 300_000;

export interface ArgoServerDeps {
  readonly namespace: string;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Outside of a cluster its names mean nothing. */
  readonly isInCluster: boolean;
  /** Resolves if the cluster has such a Service. */
  readonly resolve?: (host: string) => Promise<unknown>;
}

/**
 * Whether Argo CD's API server runs beside this controller: only then do commands of `argocd` work.
 * The DNS of the cluster answers that without any right. The first answers are "no".
 */
export function argoServerLookup({ namespace, clock, isInCluster, resolve = lookup }: ArgoServerDeps): () => boolean {
  let [found, askedAt]: [boolean, number | undefined] = [false, undefined];
  const ask = async (): Promise<void> => {
    const asked = serviceNames.map((name) => resolve(`${name}.${namespace}.svc`));
    found = (await Promise.allSettled(asked)).some(({ status }) => status === 'fulfilled');
  };
  return () => {
    const now = clock.monotonic();
    if (!isInCluster) return false;
    if (askedAt === undefined || now - askedAt > freshMs) {
      askedAt = now;
      void ask();
    }
    return found;
  };
}
