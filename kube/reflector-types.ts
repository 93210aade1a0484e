import type { Clock, Limiter, Random } from '#base';
import type { ApiResource, KubeObject } from '#model';
import type { Logger } from '#telemetry';
import type { ReflectorSink } from './informer-types.ts';
import type { ListLimits } from './list-bounds.ts';
import type { KubeClient } from './types.ts';

/** Which objects, of which server. */
export interface ReflectorTarget {
  readonly client: Pick<KubeClient, 'list' | 'watch' | 'server'>;
  readonly resource: ApiResource;
  /** All namespaces when missing. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

/** Every member has a default; durations are in milliseconds. */
export interface ReflectorTuning {
  /** Items per page of a list. Default 500. */
  readonly pageSize: number;
  /** Deadline of one page. Default 60 s. */
  readonly pageDeadlineMs: number;
  /** The very first list may come from the server's cache (`resourceVersion=0`): cheap for the server, may be a little old. Default false. */
  readonly firstListFromCache: boolean;
  /** Lists take a place here first, so that a start does not list everything at once. */
  readonly lists?: Limiter;
  /** First wait after a failure; doubles up to the cap, plus as much again at random. Default 800 ms and 30 s. */
  readonly backoffMs: number;
  readonly backoffCapMs: number;
  /** Wait while access is forbidden; doubles up to ten times itself. Default 30 s. */
  readonly forbiddenRetryMs: number;
  /** A list that goes further is no honest one. Default: {@link listLimits}. */
  readonly limits: ListLimits;
  /** A list that has not come to its end after so long is told as trouble, and goes on. Default 10 minutes. */
  readonly slowListMs: number;
  /** Watches that end at once without an event, in a row, before the list is made anew. Default 3. */
  readonly emptyWatches: number;
  /**
   * A watch that says nothing for so long, not even a bookmark, may wait for a version that the server reaches in weeks: the next one is
   * opened only after a look at where the server is. Default 60 s.
   */
  readonly silentWatchMs: number;
}

/** A server is at an earlier version than it has named before: it was set back, or is another one. */
export interface WentBack {
  readonly kind: string;
  readonly version: string;
  readonly before: string;
}

export interface ReflectorOptions extends ReflectorTarget {
  readonly sink: ReflectorSink;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly tuning?: Partial<ReflectorTuning>;
  /** Told when a look shows that the server went back; it is logged when this is missing. Every kind finds it out for itself. */
  readonly onWentBack?: (found: WentBack) => void;
}

/** Counts since the start, for metrics. */
export interface ReflectorStats {
  readonly lists: number;
  readonly watches: number;
  readonly events: number;
  readonly bookmarks: number;
  readonly failures: number;
  /** Throws of the sink that were caught. */
  readonly sinkErrors: number;
}

export interface InformerOptions extends ReflectorTarget {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly tuning?: Partial<ReflectorTuning>;
  /** Emits `updated` for every object again each so often. Default: never. */
  readonly resyncMs?: number;
  /** What is kept is compared with the server, by its metadata, each so often, and listed again when it differs; 0: never. Default: 30 minutes. */
  readonly auditMs?: number;
  /** Applied to each object before it is stored, to leave out what nobody reads. Must keep apiVersion, kind and identity. */
  readonly transform?: (object: KubeObject) => KubeObject;
}
