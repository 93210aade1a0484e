import { OwnershipLost, repeatUntilAborted } from '#base';
import type { Clock, Runnable } from '#base';
import type { ClusterInfo, LiveClusters } from '#live';
import type { Application, Cluster } from '#model';
import type { ClusterReport, OwnershipFence, Publisher } from '#publish';
import type { FencedSend } from '../admission/ownership-guard.ts';
import type { Ownership } from '#sharding';
import type { Logger } from '#telemetry';
import type { ClusterLabels } from './cluster-labels.ts';
import { kubeTime } from '../shared/kube-time.ts';

export interface ClusterReportsDeps {
  readonly publisher: Publisher;
  readonly labels: Pick<ClusterLabels, 'update'>;
  readonly live: LiveClusters;
  readonly ownership: Pick<Ownership, 'ownedParts'>;
  /** Sends a write that belongs to a cluster of this replica. */
  readonly fenced: <T>(server: string, signal: AbortSignal, send: FencedSend<T>) => Promise<T>;
  readonly clusters: () => readonly Cluster[];
  readonly apps: () => Iterable<Application>;
  /** The destination server of an Application that counts: its project permits its namespace. */
  readonly serverOf: (app: Application) => string | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Publishes the state of each owned cluster at startup and at an interval, and labels the Secrets
 * that ask for it. Source: Argo CD controller/clusterinfoupdater.go; its first report is sent
 * before the Applications are listed, so it counts none.
 */
export class ClusterReports implements Runnable {
  readonly name = 'cluster reports';
  readonly #deps: ClusterReportsDeps;
  readonly #intervalMs: number;

  constructor(deps: ClusterReportsDeps, intervalMs: number) {
    this.#deps = deps;
    this.#intervalMs = intervalMs;
  }

  async run(signal: AbortSignal): Promise<void> {
    await repeatUntilAborted(signal, async () => {
      await this.#publish(signal);
      await this.#deps.clock.sleep(this.#intervalMs, signal);
    });
  }

  async #publish(signal: AbortSignal): Promise<void> {
    const { clusters, live, publisher, labels, clock } = this.#deps;
    const counts = this.#counts();
    const infos = new Map(live.infos().map((info) => [info.server, info]));
    for (const cluster of clusters()) {
      const { server } = cluster;
      if (!this.#reports(server)) continue;
      const facts = {
        info: infos.get(server),
        apiVersions: this.#apiVersions(server),
        applications: counts.get(server) ?? 0,
        now: clock.now(),
      };
      const fence: OwnershipFence = (send) =>
        this.#fenced(server, signal, (call) => send(call.signal, call.beforeSend));
      await publisher.setClusterInfo(server, clusterReport(facts), { signal, fence });
      await labels.update(cluster, facts.info?.serverVersion, {
        signal,
        fenced: (send) => this.#fenced(server, signal, send),
      });
    }
  }

  /** The owner of the first part reports a split cluster; the others have the same cache. */
  #reports(server: string): boolean {
    return this.#deps.ownership.ownedParts(server)?.owned.includes(0) === true;
  }

  #fenced<T>(server: string, signal: AbortSignal, send: FencedSend<T>): Promise<T> {
    if (this.#reports(server)) return this.#deps.fenced(server, signal, send);
    return Promise.reject(new OwnershipLost(`cluster ${server}`));
  }

  #counts(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const app of this.#deps.apps()) {
      const server = this.#deps.serverOf(app);
      if (server !== undefined) counts.set(server, (counts.get(server) ?? 0) + 1);
    }
    return counts;
  }

  #apiVersions(server: string): readonly string[] {
    try {
      return this.#deps.live.peek(server)?.capabilities().apiVersions ?? [];
    } catch {
      // Discovery has never worked; the connection state reports it.
      return [];
    }
  }
}

/** Facts about a cluster; `info` is undefined while it has no cache here. */
export interface ClusterFacts {
  readonly info: ClusterInfo | undefined;
  readonly apiVersions: readonly string[];
  readonly applications: number;
  readonly now: number;
}

/** The cluster state that `argocd cluster list` and the UI show. The messages are Argo CD's. */
export function clusterReport({ info, apiVersions, applications, now }: ClusterFacts): ClusterReport {
  const { serverVersion = '', lastSyncAt } = info ?? {};
  const status = connectionStatusOf(info);
  return {
    connectionState: { status, message: connectionMessageOf(info, status, applications), attemptedAt: kubeTime(now) },
    ...(serverVersion === '' ? {} : { serverVersion }),
    cacheInfo:
      info === undefined || status !== 'Successful'
        ? {}
        : {
            resourcesCount: info.resourcesCount,
            apisCount: info.apisCount,
            ...(lastSyncAt === undefined ? {} : { lastCacheSyncTime: kubeTime(lastSyncAt) }),
          },
    applicationsCount: applications,
    ...(apiVersions.length === 0 ? {} : { apiVersions }),
  };
}

function connectionStatusOf(info: ClusterInfo | undefined): ClusterReport['connectionState']['status'] {
  if (info?.message !== undefined) return 'Failed';
  return info?.state === 'synced' ? 'Successful' : 'Unknown';
}

function connectionMessageOf(info: ClusterInfo | undefined, status: string, applications: number): string {
  if (status === 'Failed') return info?.message ?? '';
  return info === undefined && applications === 0 ? 'Cluster has no applications and is not being monitored.' : '';
}
