import type { Json } from '#base';
import type { KubeObject } from '#model';
import type { ServedKind } from './registry.ts';

/** One column of a Table. */
export interface Column {
  readonly name: string;
  readonly type: string;
  readonly format: string;
  readonly description: string;
  /** 0: always shown; 1: only with `-o wide`. */
  readonly priority: number;
}

export interface Row {
  readonly cells: readonly Json[];
  readonly conditions?: readonly Json[];
}

const nameColumn: Column = { name: 'Name', type: 'string', format: 'name', description: 'Name', priority: 0 };
const ageColumn: Column = { name: 'Age', type: 'date', format: '', description: 'Age', priority: 0 };

export function tableColumns(_kind: ServedKind): Json {
  return [nameColumn, ageColumn].map((column) => ({ ...column }));
}

export function tableRow(_kind: ServedKind, object: KubeObject, nowMs: number): Row {
  void nowMs;
  return { cells: [object.metadata.name ?? '', object.metadata.creationTimestamp ?? null] };
}
