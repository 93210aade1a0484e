import type { Clock } from '#base';
import type { ControllerReport } from '#controller';
import type { RepositoryReport } from '#desired';
import type { ClusterReport } from '#live';
import type { Cluster } from '#model';
import type { SettingsProblem } from '#settings';
import type { Ownership } from '#sharding';
import type { HubKinds } from './access/hub-kinds.ts';
import type { LinkTemplate } from './links.ts';
import type { ReplicaHistory } from './view-types.ts';

/** The process of a replica. */
export interface ProcessFacts {
  readonly startedAt: number;
  readonly ready: boolean;
  readonly reason?: string;
  readonly heapBytes: number;
  readonly heapLimitBytes: number;
  readonly rssBytes: number;
  readonly cpuMs: number;
  readonly eventLoopDelayMs?: number;
}

/** The readers of one replica's facts. Each reads what its module has at that moment. */
export interface ReplicaFacts {
  /** Host name. */
  readonly name: string;
  readonly version: string;
  /** The controller's own namespace. */
  readonly namespace: string;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly controller: ControllerReport;
  readonly ownership: Pick<Ownership, 'identity' | 'facts' | 'placeOf' | 'conditions' | 'ownsCluster'>;
  /** Kinds of the cluster of this namespace; absent: none is known. */
  readonly hubKinds?: HubKinds;
  /** All cluster Secrets. */
  readonly clusters: () => readonly Cluster[];
  /** Clusters that this replica watches. */
  readonly watched: () => readonly ClusterReport[];
  readonly repositories: () => readonly RepositoryReport[];
  /** Settings that cannot be read, are missing, or would be lost by a restart. */
  readonly settingsProblems?: () => readonly SettingsProblem[];
  readonly process: () => ProcessFacts;
  /** Whether Argo CD's API server runs beside this controller; absent: no. */
  readonly hasArgoServer?: () => boolean;
  /** Figures of the last hour; absent: none are kept. */
  readonly history?: () => Omit<ReplicaHistory, 'replica'>;
  /** Links to pages about an Application or a cluster in other programs. */
  readonly links?: readonly LinkTemplate[];
}
