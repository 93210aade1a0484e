import type { SlotClaims } from '../documents/claims.ts';
import type { PlanInputs } from './plan.ts';
import type { LandingWrites, ParseResult, SlotHolders } from '../documents/slots-document.ts';
import type { TableDocument } from '../documents/table-document.ts';

/** A moment on this process' clocks. */
export interface LocalInstant {
  readonly monotonic: number;
  readonly wall: number;
}

/** One read of the hub: first the table, then the slots. */
export interface HubObservation {
  readonly table: ParseResult<TableDocument>;
  /** From the ConfigMap of the table, by the same read. */
  readonly claims: SlotClaims;
  readonly slots: ParseResult<SlotHolders>;
  /** When the read of the table was sent. */
  readonly since: number;
  /** When the read of the slots was sent, and answered. */
  readonly slotsSince: number;
  readonly until: number;
  /**
   * True if {@link isApparentlyNew}, and a second read of the table, after that of the slots, found
   * none either.
   */
  readonly isNew: boolean;
}

/**
 * Reports whether the hub looks empty. It is a new installation, or the table was published after
 * we read it and the slots were lost before we read them. A second read of the table decides.
 */
export function isApparentlyNew(table: ParseResult<TableDocument>, slots: ParseResult<SlotHolders>): boolean {
  if (table.state !== 'missing' || slots.state === 'broken') return false;
  return slots.state === 'missing' || slots.value.size === 0;
}

/** Which clusters answer this replica. By `clusterKey`, sorted. */
export interface ClusterReach {
  /** Clusters of this replica that do not answer it, while none of them does. */
  readonly unreached: readonly string[];
  /** Clusters that others offer, and that answered this replica lately. */
  readonly reaches: readonly string[];
}

export interface LocalState {
  /** Undefined before the first full list of clusters. */
  readonly inputs: PlanInputs | undefined;
  /** Desired number of replicas; undefined when unknown. */
  readonly replicas: number | undefined;
  /** The only slot that this replica may have; undefined: any free one. */
  readonly fixedSlot: number | undefined;
  /** No write to a part that was given away is in flight. */
  readonly drained: boolean;
  /**
   * While leaving: servers that writes without an answer may still reach, and for how long.
   * Undefined while a request runs.
   */
  readonly landing?: LandingWrites | undefined;
  /**
   * True if caches are filled for all parts that the obeyed table announces. Undefined: this
   * replica never prepares, and others do not wait for it.
   */
  readonly warm?: boolean | undefined;
  /** The process is shutting down: release the slot. */
  readonly leaving: boolean;
  /** Absent: unknown, and nothing is offered. */
  readonly reach?: ClusterReach | undefined;
  /** Event rates of our clusters, to report with the next renewal. */
  readonly load?: ReadonlyMap<string, number>;
}

/**
 * The next write that the protocol wants. Valid only against the versions of the last observation.
 */
export type WriteIntent =
  | {
      readonly write: 'slots';
      readonly slots: SlotHolders;
      readonly count: number;
      readonly why: string;
      /** Our slot, if only its record changes: later slots with the same record will do. */
      readonly own?: number;
    }
  | { readonly write: 'table'; readonly table: TableDocument; readonly claims: SlotClaims }
  | { readonly write: 'claims'; readonly claims: SlotClaims; readonly why: string };
