import type { Clock, ConcurrencyLimiter, RandomSource } from '#base';
import type { ApiResource, KubeObject } from '#model';
import type { Logger } from '#telemetry';
import type { ReflectorSink } from './informer-types.ts';
import type { ListLimits } from './list-bounds.ts';
import type { DefersMembers, KubeClient } from '../types.ts';
import type { WatchListSupport } from './watch-list-support.ts';

/** The objects to reflect, and their server. */
export interface ReflectorTarget {
  readonly client: Pick<KubeClient, 'list' | 'watch' | 'server'>;
  readonly resource: ApiResource;
  /** All namespaces if missing. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly defers?: DefersMembers;
}

/** Every member has a default. Durations are in milliseconds. */
export interface ReflectorTuning {
  /** Items per page of a list. Default 500. */
  readonly pageSize: number;
  /** Deadline of one page. Default 60 s. */
  readonly pageDeadlineMs: number;
  /** Attempts of one page. Default: those of the client. */
  readonly pageAttempts?: number;
  /**
   * Serve the first list from the server's cache (`resourceVersion=0`): cheap, but may be stale.
   * Default false.
   */
  readonly firstListFromCache: boolean;
  /** Limits concurrent lists, so that a start does not list everything at once. */
  readonly lists?: ConcurrencyLimiter;
  /**
   * First delay after a failure; doubles up to the cap, plus up to as much again at random. Default
   * 800 ms and 15 s, so that a retry follows a recovery within 30 s.
   */
  readonly backoffMs: number;
  readonly backoffCapMs: number;
  /** Delay while access is forbidden, plus up to as much again at random. Default 13 s. */
  readonly forbiddenRetryMs: number;
  /** A list beyond these limits is rejected. Default: {@link listLimits}. */
  readonly limits: ListLimits;
  /** A list that takes longer is reported as degraded, and continues. Default 10 minutes. */
  readonly slowListMs: number;
  /** Relist after this many consecutive watches that end at once without an event. Default 3. */
  readonly emptyWatches: number;
  /**
   * A watch without even a bookmark for this long may be waiting for a future version. Before the
   * next watch, verify the version. Default 60 s.
   */
  readonly silentWatchMs: number;
}

/** The server is at an older version than before: it was restored, or replaced by another one. */
export interface VersionRegression {
  readonly kind: string;
  readonly version: string;
  readonly before: string;
}

export interface ReflectorOptions extends ReflectorTarget {
  readonly sink: ReflectorSink;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly logger: Logger;
  readonly tuning?: Partial<ReflectorTuning>;
  /**
   * Allows one request instead of a list and a watch, while the server supports it. For kinds with
   * few objects per request, because streamed lists have no pages. Default: never.
   */
  readonly watchList?: WatchListSupport;
  /**
   * Lower bound of later delays, for many reflectors of one server that fail together. Default: 0.
   */
  readonly crowdRetryMs?: () => number;
  /**
   * Called when the server went back to an older version; without it, a warning is logged. Each
   * reflector detects this by itself.
   */
  readonly onWentBack?: (found: VersionRegression) => void;
}

/** Counts since the start, for metrics. */
export interface ReflectorStats {
  readonly lists: number;
  readonly watches: number;
  readonly events: number;
  readonly bookmarks: number;
  readonly failures: number;
  /** Exceptions of the sink that were caught. */
  readonly sinkErrors: number;
}

export interface InformerOptions extends Omit<ReflectorTarget, 'defers'> {
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly logger: Logger;
  readonly tuning?: Partial<ReflectorTuning>;
  /** Interval at which `updated` is emitted for every object. Default: never. */
  readonly resyncMs?: number;
  /**
   * Interval of comparing the cache's metadata with the server; a difference causes a relist. 0:
   * never. Default: 30 minutes.
   */
  readonly auditMs?: number;
  /**
   * Applied to each object before it is stored, to drop unused fields. Must keep apiVersion, kind
   * and identity.
   */
  readonly transform?: (object: KubeObject) => KubeObject;
  /**
   * Whether the object with this key is seldom read in full: its status and managedFields are then
   * kept as text until they are read. Asked at each change. Default: never.
   */
  readonly isDeferred?: (key: string) => boolean;
}
