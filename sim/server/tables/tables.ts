import { stringifyJson } from '#base';
import type { Json, JsonObject } from '#base';
import type { KubeObject } from '#model';
import type { PrinterColumn } from '../../types.ts';
import { ageOf } from './duration-text.ts';
import { asJsonObject } from '../fields.ts';
import { jsonPath } from './jsonpath.ts';
import { clusterPrinters } from './printers-cluster.ts';
import { workloadPrinters } from './printers-workloads.ts';
import type { KindPrinter } from './printer.ts';
import type { ServedKind } from '../discovery/registry.ts';

/** One table row: the cells, and the conditions by which kubectl recognizes a terminated pod. */
export interface TableRow {
  readonly cells: readonly Json[];
  readonly conditions?: readonly Json[];
}

const kindPrinters: Readonly<Record<string, KindPrinter>> = {
  ...clusterPrinters,
  ...workloadPrinters,
};
const plainPrinter: KindPrinter = { columns: 'Name | Age', cells: () => [] };
const ageColumn: PrinterColumn = {
  name: 'Age',
  type: 'date',
  jsonPath: '.metadata.creationTimestamp',
  description:
    'CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set in ' +
    'happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 form and is in UTC.',
};

function printerOf(kind: ServedKind): KindPrinter {
  return kindPrinters[kind.groupKind] ?? plainPrinter;
}

function customColumns(kind: ServedKind): readonly PrinterColumn[] {
  return kind.printerColumns === undefined || kind.printerColumns.length === 0 ? [ageColumn] : kind.printerColumns;
}

/** The column definitions of a kind's Table. */
export function tableColumns(kind: ServedKind): Json {
  if (kind.custom) return [nameColumn(), ...customColumns(kind).map((column) => customColumn(column))];
  return printerOf(kind)
    .columns.split('|')
    .map((text) => text.trim())
    .map((text) => {
      const wide = text.endsWith('*');
      const [name = '', type = 'string'] = (wide ? text.slice(0, -1) : text).split(':');
      return name === 'Name' && !wide ? nameColumn() : columnOf(name, { type, priority: wide ? 1 : 0 });
    });
}

function nameColumn(): JsonObject {
  const description =
    'Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to request ' +
    'the generation of an appropriate name automatically.';
  return columnOf('Name', { format: 'name', description });
}

function columnOf(name: string, more: JsonObject): JsonObject {
  return { name, type: 'string', format: '', description: name, priority: 0, ...more };
}

function customColumn(column: PrinterColumn): JsonObject {
  return columnOf(column.name, {
    type: column.type,
    format: column.format ?? '',
    description: column.description ?? `Custom resource definition column (in JSONPath format): ${column.jsonPath}`,
    priority: column.priority ?? 0,
  });
}

/** One object as a row of its kind's table. */
export function tableRow(kind: ServedKind, object: KubeObject, nowMs: number): TableRow {
  const name = object.metadata.name ?? '';
  if (kind.custom) return { cells: [name, ...customColumns(kind).map((column) => customCell(object, column, nowMs))] };
  const printer = printerOf(kind);
  const made = printer.cells(object, nowMs);
  const cells =
    printer.whole === true
      ? made
      : withNameAndAge(printer.columns, { name, made, age: ageOf(object.metadata.creationTimestamp, nowMs) });
  const conditions = printer.conditions?.(object);
  return { cells, ...(conditions === undefined ? {} : { conditions }) };
}

/** Inserts name and age at their columns; the printer's cells fill the rest in order. */
function withNameAndAge(
  columns: string,
  parts: { readonly name: string; readonly made: readonly Json[]; readonly age: string },
): readonly Json[] {
  const rest = [...parts.made];
  return columns
    .split('|')
    .map((text) => text.trim())
    .map((column) => {
      if (column === 'Name') return parts.name;
      return column === 'Age' ? parts.age : (rest.shift() ?? '<none>');
    });
}

function customCell(object: KubeObject, column: PrinterColumn, nowMs: number): Json {
  const found = jsonPath(asJsonObject(object), column.jsonPath);
  const [first] = found;
  if (first === undefined || first === null) return null;
  if (column.type === 'date') return ageOf(first, nowMs);
  if (column.type !== 'string') return first;
  return found.map((value) => (typeof value === 'string' ? value : stringifyJson(value))).join(' ');
}
