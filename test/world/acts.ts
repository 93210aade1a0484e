import type { RandomSource } from '#base';
import type { RequestFault, WatchFault } from './faults.ts';
import type { GitFault } from './servers/git.ts';
import type { RedisFault } from './servers/redis.ts';

/** Temporary changes of the Secret of a cluster. */
export type SecretChange =
  | 'url of another cluster'
  | 'url with a slash'
  | 'renamed'
  | 'deleted'
  | 'without its type'
  | 'config truncated'
  | 'server emptied';

/** Temporary changes of argocd-cm that must not widen what is written. */
export type SettingsChange = 'deleted' | 'emptied' | 'text instead of a list' | 'bad YAML';

/** How an Application is synced. */
export type SyncManner = 'automated' | 'automated without prune' | 'manual';

export interface AppPlan {
  readonly cluster: number;
  readonly manner: SyncManner;
  /** Deleting the Application deletes its objects. */
  readonly cascades: boolean;
}

/** A fault, or the act of a person. `at`: milliseconds since the start. */
export type Act = { readonly at: number } & (
  | {
      readonly do: 'request';
      readonly to: number | 'hub';
      readonly verbs: 'read' | 'write' | 'any';
      readonly by?: number;
      readonly resource?: string;
      readonly fault: RequestFault;
      readonly times: number;
    }
  | {
      readonly do: 'outage';
      readonly to: number | 'hub';
      readonly verbs: 'read' | 'write' | 'any';
      readonly by?: number;
      readonly resource?: string;
      readonly fault: RequestFault;
      readonly ms: number;
    }
  | { readonly do: 'watch'; readonly to: number | 'hub'; readonly fault: WatchFault; readonly by?: number }
  | { readonly do: 'cut'; readonly from: number | 'hub' | 'clusters'; readonly by: number; readonly ms: number }
  | { readonly do: 'restart'; readonly by: number; readonly how: 'kill' | 'stop'; readonly downMs: number }
  | { readonly do: 'freeze'; readonly by: number; readonly how: 'stop' | 'suspend'; readonly ms: number }
  | { readonly do: 'jump'; readonly by: number; readonly ms: number }
  | { readonly do: 'restore'; readonly cluster: number; readonly agoMs: number }
  | { readonly do: 'git'; readonly fault: GitFault; readonly ms: number }
  | { readonly do: 'redis'; readonly fault: RedisFault; readonly ms: number }
  | { readonly do: 'secret'; readonly cluster: number; readonly change: SecretChange; readonly ms: number }
  | { readonly do: 'settings'; readonly change: SettingsChange; readonly ms: number }
  /** A kind may not be read, in one namespace if given, or lists work while watches are refused. */
  | {
      readonly do: 'unread';
      readonly cluster: number;
      readonly resource: string;
      readonly verbs: 'list and watch' | 'watch';
      readonly code: number;
      readonly namespace?: string;
      readonly ms: number;
    }
  /** An operator sets the field that an ignore rule leaves to it. */
  | { readonly do: 'own'; readonly app: number }
  | { readonly do: 'split'; readonly cluster: number; readonly parts: number }
  | { readonly do: 'scale'; readonly replicas: number }
  | {
      readonly do: 'push';
      readonly app: number;
      readonly change: 'set' | 'add' | 'remove' | 'revert';
      readonly item: number;
    }
  | { readonly do: 'edit'; readonly app: number; readonly change: 'set' | 'delete' | 'keep'; readonly item: number }
  /** A live object is marked as one to keep, and leaves Git in the same moment. */
  | { readonly do: 'abandon'; readonly app: number; readonly item: number }
  | { readonly do: 'foreign'; readonly cluster: number }
  | { readonly do: 'sync'; readonly app: number; readonly prune: boolean }
  | { readonly do: 'terminate'; readonly app: number }
  | { readonly do: 'refresh'; readonly app: number; readonly hard: boolean }
  | { readonly do: 'pin'; readonly app: number; readonly back: number }
  | { readonly do: 'manner'; readonly app: number; readonly manner: SyncManner }
  | { readonly do: 'delete'; readonly app: number }
);

/** A schedule: plain data, so that it can be printed, shortened and played again. */
export interface WorldPlan {
  readonly seed: number;
  readonly replicas: number;
  readonly clusters: number;
  readonly troubleMs: number;
  /** Requests that a replica sends to one cluster in a second. */
  readonly clusterQps: number;
  readonly apps: readonly AppPlan[];
  /** Replicas of another release that uses the same ConfigMaps; their indices begin at 100. */
  readonly others?: number;
  /** The clusters are watched in two namespaces only, and stream lists. */
  readonly scoped?: boolean;
  /** A field of each Application belongs to an operator, by an ignore rule of argocd-cm. */
  readonly owned?: boolean;
  /** Replicas offer their clusters when none of them answers for a lease. */
  readonly offers?: boolean;
  readonly acts: readonly Act[];
}

/** The index of the first replica of another release. */
export const firstOther = 100;

export interface PlanWorld {
  readonly draw: Draw;
  readonly replicas: number;
  readonly clusters: number;
  readonly apps: number;
  /** The cluster of each Application. */
  readonly homes: readonly number[];
}

/** Draws from a random source. */
export class Draw {
  readonly #random: RandomSource;

  constructor(random: RandomSource) {
    this.#random = random;
  }

  below(n: number): number {
    return Math.floor(this.#random.next() * n);
  }

  pick<const T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T;
  }
}
