import { seededRandom, systemClock } from '#base';
import type { Clock } from '#base';
import type { ClusterConnection, KubeObject } from '#model';
import { silentLogger } from '#telemetry';
import { apiResource } from '../discovery/api-resource.ts';
import type { KubeClientDeps } from '../client-types.ts';
import { createKubeClient } from '../client.ts';
import type { KubeClient } from '../types.ts';

export const configMaps = apiResource('v1', 'ConfigMap', 'configmaps', 'namespaced');
export const deployments = apiResource('apps/v1', 'Deployment', 'deployments', 'namespaced');
export const noSignal = new AbortController().signal;

export function object(name: string, resourceVersion: string, extra: Partial<KubeObject['metadata']> = {}): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: 'default', uid: `uid-${name}`, resourceVersion, ...extra },
  };
}

export interface ClientSetup extends Partial<Omit<KubeClientDeps, 'clock' | 'random' | 'logger' | 'userAgent'>> {
  readonly connection?: Partial<ClusterConnection>;
  readonly clock?: Clock;
}

export function clientFor(server: { readonly url: string }, setup: ClientSetup = {}): KubeClient {
  const { connection = {}, clock = systemClock, ...deps } = setup;
  return createKubeClient(
    { server: server.url, insecure: false, credentials: {}, ...connection },
    { clock, random: seededRandom(1), logger: silentLogger, userAgent: 'driftless/test', ...deps },
  );
}

/** The first `count` items of a stream; then leaves it. */
export async function collect<T>(stream: AsyncIterable<T>, count = Number.POSITIVE_INFINITY): Promise<T[]> {
  const seen: T[] = [];
  for await (const item of stream) {
    seen.push(item);
    if (seen.length >= count) break;
  }
  return seen;
}
