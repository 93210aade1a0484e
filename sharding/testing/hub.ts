import { parseSlots } from '../slots-document.ts';
import type { Found, Slots } from '../slots-document.ts';
import { parseTable } from '../table-document.ts';
import type { TableDocument } from '../table-document.ts';

export interface Stored {
  readonly version: number;
  readonly data: Readonly<Record<string, unknown>>;
  readonly binaryData?: Readonly<Record<string, unknown>>;
}

/** Two ConfigMaps with optimistic concurrency. */
export class Hub {
  #version = 0;
  slots: Stored | undefined;
  table: Stored | undefined;
  #oldTable: Stored | undefined;

  /** Writes on top of what was read (0: nothing was there); false: somebody was faster. */
  put(which: 'slots' | 'table', base: number, object: Omit<Stored, 'version'>): boolean {
    if ((this[which]?.version ?? 0) !== base) return false;
    this.set(which, object);
    return true;
  }

  /** Brings back the table before the last: what a backup does. */
  restoreTable(): void {
    if (this.#oldTable !== undefined) this.set('table', this.#oldTable);
  }

  set(which: 'slots' | 'table', object: Omit<Stored, 'version'>): void {
    this.#version += 1;
    if (which === 'table') this.#oldTable = this.table;
    this[which] = { ...object, version: this.#version };
  }
}

const parsedSlots = new WeakMap<Stored, Found<Slots>>();
const parsedTables = new WeakMap<Stored, Found<TableDocument>>();

export function foundSlots(stored: Stored | undefined): Found<Slots> {
  if (stored === undefined) return { state: 'missing' };
  const known = parsedSlots.get(stored) ?? parseSlots(stored.data);
  parsedSlots.set(stored, known);
  return known;
}

export function foundTable(stored: Stored | undefined): Found<TableDocument> {
  if (stored === undefined) return { state: 'missing' };
  const known = parsedTables.get(stored) ?? parseTable(stored);
  parsedTables.set(stored, known);
  return known;
}
