import { isAbort, messageOf, newAbortController, OwnershipLost, Shutdown, UsageError, withChild } from '#base';
import type { Clock, RandomSource } from '#base';
import type { Cluster } from '#model';
import { createOwnership } from '#sharding';
import type { Ownership, OwnershipDeps } from '#sharding';
import { PromMetrics, silentLogger } from '#telemetry';
import { mustBeAlgorithm } from './algorithm.ts';
import {
  mustHaveMembers,
  mustBeFunction,
  mustBeListOf,
  mustBeNonEmptyText,
  mustBeNumberIn,
  mustBeShape,
  mustBeText,
  mustBeWholeIn,
} from '../options/checks.ts';
import { DocumentClient, workloadName } from './document-client.ts';
import { problemText } from './problem-text.ts';
import type { FleetChange, FleetDocuments, FleetMember, FleetOptions } from './types.ts';

export interface FleetDeps {
  readonly clock: Clock;
  readonly random: RandomSource;
  /** A clock in milliseconds that continues while the machine is suspended. */
  readonly bootMs: NonNullable<OwnershipDeps['bootMs']>;
  /** Receives errors of listeners. */
  readonly warn: (message: string) => void;
}

const maxMembers = 10_000;
const maxSuccessorMs = 3_600_000;
/** Within this time a watch reports a change. */
const watchMs = 150;
const mustBeMemberCount = mustBeWholeIn(1, maxMembers);
const checkFleetOptions = mustBeShape<FleetOptions>(
  {
    documents: mustHaveMembers<FleetDocuments>({ read: mustBeFunction, write: mustBeFunction, watch: mustBeFunction }, [
      'read',
      'write',
    ]),
    name: mustBeNonEmptyText,
    members: mustBeMemberCount,
    algorithm: mustBeAlgorithm,
    heartbeatMs: mustBeNumberIn(1000, 60_000),
    successorMs: mustBeNumberIn(0, maxSuccessorMs),
    pollMs: mustBeNumberIn(50, 60_000),
  },
  ['documents', 'name', 'members'],
);
/** Items are clusters to the protocol; the prefix keeps an empty name apart from its own keys. */
const prefix = 'item:';

/** A member of a fleet over the ownership of the controller. */
export class OpenedFleetMember implements FleetMember {
  readonly #ownership: Ownership;
  readonly #documents: DocumentClient;
  readonly #clock: Clock;
  readonly #warn: FleetDeps['warn'];
  readonly #controller = newAbortController();
  readonly #run: Promise<void>;

  /** @throws UsageError */
  constructor(options: FleetOptions, { clock, random, bootMs, warn }: FleetDeps) {
    checkFleetOptions(options, 'options');
    const {
      documents,
      name,
      members,
      algorithm = 'consistent-hashing',
      heartbeatMs = 10_000,
      successorMs = 0,
      pollMs = 250,
    } = options;
    this.#documents = new DocumentClient(documents, members, clock);
    [this.#clock, this.#warn] = [clock, warn];
    this.#ownership = createOwnership({
      client: this.#documents.client(),
      namespace: this.#documents.namespace,
      clock,
      random,
      bootMs,
      algorithm,
      heartbeatMs,
      successorMs,
      ...(documents.watch === undefined ? { pollMs, noticeMs: pollMs } : { noticeMs: watchMs }),
      logger: silentLogger,
      metrics: new PromMetrics(),
      dynamic: true,
      hostname: name,
      replicas: 0,
      controllerName: workloadName,
    });
    this.#run = this.#ownership.run(this.#controller.signal).catch((error: unknown) => {
      if (!isAbort(error)) warn(`the fleet member ${name} ended: ${messageOf(error)}`);
    });
  }

  owns(item: string): boolean {
    return this.#ownership.ownsCluster(keyOf(item));
  }

  owners(): ReadonlyMap<string, string | undefined> {
    const { entries, holders } = this.#ownership.facts();
    return new Map(
      [...entries].map(([key, { shards }]) => [itemOf(key), holders.get(shards[0] ?? -1)?.holder] as const),
    );
  }

  setItems(items: Iterable<string>): void {
    this.#mustBeJoined();
    const names = [...checkedItems(items)];
    mustBeListOf(mustBeText)(names, 'items');
    this.#ownership.update([...new Set(names)].map(clusterOf), []);
  }

  resize(members: number): void {
    this.#mustBeJoined();
    mustBeMemberCount(members, 'members');
    this.#documents.resize(members);
  }

  async write<T>(item: string, send: (check: () => void, signal: AbortSignal) => Promise<T>): Promise<T> {
    const write = this.#ownership.writing(keyOf(item), undefined, (check, abandoned) =>
      withChild(abandoned, async (signal, abort) => {
        const late = new Error(`the right to write to ${item} ended before the write did`);
        const timer = this.#clock.timer(this.#ownership.leaseLeftMs(), () => abort(late));
        try {
          return await send(() => checkFor(item, check), signal);
        } finally {
          timer.cancel();
        }
      }),
    );
    return write.catch((error: unknown) => {
      throw namingItem(item, error);
    });
  }

  onChange(listener: (change: FleetChange) => void): () => void {
    mustBeFunction(listener, 'listener');
    return this.#ownership.onChange(({ gained, lost }) => {
      if (gained.length + lost.length === 0) return;
      try {
        listener({ gained: gained.map(itemOf), lost: lost.map(itemOf) });
      } catch (error) {
        this.#warn(`a listener of the fleet failed: ${messageOf(error)}`);
      }
    });
  }

  problems(): readonly string[] {
    return this.#ownership.conditions().map(({ message }) => problemText(message));
  }

  #mustBeJoined(): void {
    if (this.#controller.signal.aborted) throw new Shutdown('the member has left the fleet: join again');
  }

  async leave(): Promise<void> {
    this.#controller.abort();
    await this.#run;
  }
}

function checkFor(item: string, check: () => void): void {
  try {
    check();
  } catch (error) {
    throw namingItem(item, error);
  }
}

/** The protocol calls items clusters. */
function namingItem(item: string, error: unknown): unknown {
  return error instanceof OwnershipLost ? new OwnershipLost(`the item ${item}`, error) : error;
}

/** A text is iterable, too: its letters would become items. */
function checkedItems(items: Iterable<string>): Iterable<string> {
  if (typeof items === 'object' && Symbol.iterator in items) return items;
  throw new UsageError(`items must be a list or a Set of texts, not a ${typeof items}`);
}

function clusterOf(item: string): Cluster {
  const none = { namespaces: [], clusterResources: true, labels: {}, annotations: {} };
  return { id: item, server: keyOf(item), name: item, ...none, connection: {} as Cluster['connection'] };
}

/** @throws UsageError if the text is not well-formed Unicode */
function keyOf(item: string): string {
  try {
    return prefix + encodeURIComponent(item);
  } catch (error) {
    throw new UsageError(`${JSON.stringify(item)} cannot be an item: it is not well-formed Unicode`, { cause: error });
  }
}

function itemOf(key: string): string {
  return decodeURIComponent(key.slice(prefix.length));
}
