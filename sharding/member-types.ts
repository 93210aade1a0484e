import type { Claims } from './claims.ts';
import type { PlanInputs } from './plan.ts';
import type { Found, Slots } from './slots-document.ts';
import type { TableDocument } from './table-document.ts';

/** When something is, on this process' clocks. */
export interface Instant {
  readonly monotonic: number;
  readonly wall: number;
}

/** One look at the hub: first the table was read, then the slots. */
export interface Observation {
  readonly table: Found<TableDocument>;
  /** From the ConfigMap of the table, by the same read. */
  readonly claims: Claims;
  readonly slots: Found<Slots>;
  /** When the read of the table was sent. */
  readonly since: number;
  /** When the read of the slots was sent, and answered. */
  readonly slotsSince: number;
  readonly until: number;
  /** The hub {@link looksNew}, and there was still no table when it was read once more, after the slots. */
  readonly isNew: boolean;
}

/**
 * Nothing in the hub: a new installation, or a table that was published after it was looked for, and slots that were lost before they were.
 * Only a second look at the table can tell.
 */
export function looksNew(table: Found<TableDocument>, slots: Found<Slots>): boolean {
  if (table.state !== 'missing' || slots.state === 'broken') return false;
  return slots.state === 'missing' || slots.value.size === 0;
}

export interface World {
  /** Undefined before the first full list of clusters. */
  readonly inputs: PlanInputs | undefined;
  /** How many replicas there should be; undefined when nobody says. */
  readonly replicas: number | undefined;
  /** The one slot that this replica may have; undefined: any free one. */
  readonly fixedSlot: number | undefined;
  /** No write to anything that was given away is under way any more. */
  readonly drained: boolean;
  /** Whether everything is ready that the obeyed table will give to this replica; undefined: it never prepares, and need not be waited for. */
  readonly warm?: boolean | undefined;
  /** Let go of the slot: the process ends. */
  readonly leaving: boolean;
  /** What to report of the own clusters with the next renewal. */
  readonly load?: ReadonlyMap<string, number>;
}

/** The one write that the protocol wants next. Each is only valid against the versions of the last observation. */
export type Intent =
  | { readonly write: 'slots'; readonly slots: Slots; readonly count: number; readonly why: string }
  | { readonly write: 'table'; readonly table: TableDocument; readonly claims: Claims }
  | { readonly write: 'claims'; readonly claims: Claims; readonly why: string };
