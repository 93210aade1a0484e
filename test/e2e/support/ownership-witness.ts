import { newAbortController, systemClock } from '#base';
import type { AuditEvent } from './audit.ts';
import type { Server } from './server.ts';

/** A time from which a cluster belongs to a replica, by the table in the hub. */
export interface OwnerPeriod {
  readonly owner: string;
  /** Milliseconds since the epoch. */
  readonly fromMs: number;
}

/** A write, by the replica in its user agent. */
export interface ReplicaWrite {
  readonly replica: string;
  readonly atMs: number;
  readonly request: string;
}

const pollMs = 100;
/** A replica may act on a table that the witness reads only now. */
const slackMs = 1000;

/**
 * Returns the first write by a replica whose ownership was over: the writes must follow the owners
 * in order. Undefined: there is none.
 */
export function formerOwnersWrite(
  writes: readonly ReplicaWrite[],
  periods: readonly OwnerPeriod[],
): ReplicaWrite | undefined {
  let current = 0;
  for (const write of [...writes].sort((a, b) => a.atMs - b.atMs)) {
    const known = periods.slice(current).findIndex(({ owner }) => owner === write.replica);
    const from = periods[current + known]?.fromMs ?? Infinity;
    if (known < 0 || from > write.atMs + slackMs) return write;
    current += known;
  }
  return undefined;
}

/** The writes in an audit log of the controller's replicas. */
export function replicaWrites(events: readonly AuditEvent[]): readonly ReplicaWrite[] {
  return events.flatMap((event) => {
    const [, replica] = /^argocd-application-controller\/.*\(driftless ([^)]+)\)/.exec(event.userAgent ?? '') ?? [];
    if (replica === undefined) return [];
    const atMs = Date.parse(event.requestReceivedTimestamp);
    return [{ replica, atMs, request: `${event.verb} ${event.requestURI}` }];
  });
}

/** Reads continually from the hub which replica owns each cluster. */
export class OwnershipWitness {
  readonly #hub: Server;
  readonly #periods = new Map<string, OwnerPeriod[]>();
  readonly #life = newAbortController();
  readonly #watching: Promise<void>;

  constructor(hub: Server) {
    this.#hub = hub;
    this.#watching = this.#watch();
  }

  /** The owners of a cluster so far, in order. */
  periods(server: string): readonly OwnerPeriod[] {
    return this.#periods.get(server) ?? [];
  }

  /** Number of owners of all clusters so far. */
  get changes(): number {
    return [...this.#periods.values()].reduce((sum, list) => sum + list.length, 0);
  }

  async stop(): Promise<void> {
    this.#life.abort(new Error('the test is over'));
    await this.#watching;
  }

  async #watch(): Promise<void> {
    while (!this.#life.signal.aborted) {
      // The hub may be down: then the table does not change either.
      await this.#read().catch(() => undefined);
      await systemClock.sleep(pollMs, this.#life.signal).catch(() => undefined);
    }
  }

  async #read(): Promise<void> {
    const [table, slots] = await Promise.all(
      ['driftless-ownership', 'argocd-app-controller-shard-cm'].map((name) =>
        this.#hub.api.get<{ data?: Readonly<Record<string, string>> }>(`/api/v1/namespaces/argocd/configmaps/${name}`),
      ),
    );
    const { clusters } = JSON.parse(table?.data?.['table'] ?? '{"clusters":{}}') as {
      readonly clusters: Readonly<Record<string, { readonly shards: readonly number[] }>>;
    };
    const holders = JSON.parse(slots?.data?.['shardControllerMapping'] ?? '[]') as readonly {
      readonly ShardNumber: number;
      readonly ControllerName: string;
    }[];
    const fromMs = systemClock.now();
    for (const [server, { shards }] of Object.entries(clusters)) {
      const owner = holders.find(({ ShardNumber }) => ShardNumber === shards[0])?.ControllerName ?? '';
      const known = this.#periods.get(server) ?? [];
      if (owner === '' || known.at(-1)?.owner === owner) continue;
      this.#periods.set(server, [...known, { owner, fromMs }]);
    }
  }
}
