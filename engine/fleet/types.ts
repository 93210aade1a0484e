import type { ShardingAlgorithm } from '#sharding';

/** The two documents that the members of a fleet share: who holds which slot, and who owns what. */
export type FleetDocumentName = 'holders' | 'table';

export interface FleetDocument {
  readonly content: string;
  /** Another one after each write. */
  readonly version: string;
}

/**
 * A store for the two documents: a ConfigMap, a row of a database, an object of a bucket. It must
 * be linearizable: `read` returns the last write, and of two writes with one version one succeeds.
 */
export interface FleetDocuments {
  /** @returns undefined if there is no such document */
  read(name: FleetDocumentName, signal: AbortSignal): Promise<FleetDocument | undefined>;
  /**
   * Replaces the content if the document still has this version; undefined: if there is none.
   * @returns the new version; undefined if another member was faster. Rejects if the outcome is
   * unknown: the protocol then counts the write as landed or not, whichever is safe.
   */
  write(
    name: FleetDocumentName,
    content: string,
    version: string | undefined,
    signal: AbortSignal,
  ): Promise<string | undefined>;
  /**
   * Calls `changed` after other members' writes. Only speeds up hand-overs: members read the
   * documents anyway. @returns the function that ends it
   */
  watch?(name: FleetDocumentName, changed: () => void): () => void;
}

export interface FleetOptions {
  readonly documents: FleetDocuments;
  /** Unique in the fleet, for example a host name. */
  readonly name: string;
  /** Number of members that share the items; others stand by. Members may disagree for a while. */
  readonly members: number;
  /** Default: `consistent-hashing`. */
  readonly algorithm?: ShardingAlgorithm | undefined;
  /**
   * Interval of renewals, 10 s by default: without one for three intervals, a member's items are
   * given to others.
   */
  readonly heartbeatMs?: number | undefined;
  /**
   * How long the items of a member that has left wait for a successor in its slot, before others
   * take them. Set it if members are restarted one by one. Default: 0.
   */
  readonly successorMs?: number | undefined;
  /**
   * Interval of reads of the holders, if the documents have no `watch`: 250 ms by default. A longer
   * one costs fewer reads, and items wait that much longer for an owner.
   */
  readonly pollMs?: number | undefined;
}

export interface FleetChange {
  readonly gained: readonly string[];
  readonly lost: readonly string[];
}

/** One process of a fleet. At any time, an item has at most one member that may write to it. */
export interface FleetMember {
  /** Whether this member owns an item now. */
  owns(item: string): boolean;
  /** The name of the member that should own each item; undefined while no member holds its slot. */
  owners(): ReadonlyMap<string, string | undefined>;
  /** Replaces the items; all members should get the same. Nothing is owned before the first one. */
  setItems(items: Iterable<string>): void;
  /** Changes the number of members that share the items. */
  resize(members: number): void;
  /**
   * Runs a write to an item that this member owns. Call `check` right before each request is sent:
   * it throws once the right to write has ended. `signal` aborts when the write has to end. The
   * item is not given to another member before the write has ended.
   * @throws an error with `code` `OWNERSHIP_LOST`
   */
  write<T>(item: string, send: (check: () => void, signal: AbortSignal) => Promise<T>): Promise<T>;
  /** A listener that throws affects nothing. @returns the function that removes the listener */
  onChange(listener: (change: FleetChange) => void): () => void;
  /** Problems, for people: unreadable documents, a name that is used twice. */
  problems(): readonly string[];
  /**
   * Gives all items to others, after its writes have ended, and leaves. Afterwards it owns nothing,
   * and `setItems` and `resize` throw an error with `code` `SHUTDOWN`.
   */
  leave(): Promise<void>;
}
