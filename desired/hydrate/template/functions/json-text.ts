import { wellFormed } from './byte-text.ts';
import { stringerText } from '../go-print.ts';
import { formatTime } from '../go-time.ts';
import type { TemplateBudget } from '../template-budget.ts';
import { TemplateError } from '../template-error.ts';
import { GoInt, GoList, GoMap, GoStruct, GoTime, sortedMembers } from '../template-values.ts';
import type { TemplateValue } from '../template-values.ts';

export interface JsonStyle {
  /** Spaces of each level; 0 for one line. */
  readonly indent: number;
  readonly escapesHtml: boolean;
}

/** Writes JSON as Go's encoding/json. @throws TemplateError */
export function jsonText(value: TemplateValue, style: JsonStyle, budget: TemplateBudget): string {
  return written(value, { style, budget }, 0);
}

interface JsonWriter {
  readonly style: JsonStyle;
  readonly budget: TemplateBudget;
}

function written(value: TemplateValue, writer: JsonWriter, depth: number): string {
  writer.budget.visit(depth);
  if (value instanceof GoList) {
    if (value.isNil) return 'null';
    return enclosed(
      '[]',
      value.items.map((item) => written(item, writer, depth + 1)),
      { writer, depth },
    );
  }
  const members = membersOf(value);
  if (members === undefined) return scalar(value, writer);
  const colon = writer.style.indent > 0 ? ': ' : ':';
  const parts = members.map(([key, member]) => jsonString(key, writer) + colon + written(member, writer, depth + 1));
  return enclosed('{}', parts, { writer, depth });
}

function membersOf(value: TemplateValue): readonly (readonly [string, TemplateValue])[] | undefined {
  if (value instanceof GoMap) return sortedMembers(value);
  return value instanceof GoStruct ? Object.entries(value.fields) : undefined;
}

function enclosed(
  brackets: string,
  parts: readonly string[],
  { writer, depth }: { readonly writer: JsonWriter; readonly depth: number },
): string {
  const { indent } = writer.style;
  writer.budget.expectText(parts.reduce((sum, part) => sum + part.length + 1, 0));
  if (parts.length === 0 || indent === 0) return brackets.charAt(0) + parts.join(',') + brackets.charAt(1);
  const inner = ' '.repeat(indent * (depth + 1));
  return `${brackets.charAt(0)}\n${parts.map((part) => inner + part).join(',\n')}\n${' '.repeat(indent * depth)}${brackets.charAt(1)}`;
}

function scalar(value: TemplateValue, writer: JsonWriter): string {
  if (value instanceof GoInt) return String(value.value);
  if (value instanceof GoTime) return `"${formatTime(value, '2006-01-02T15:04:05.999999999Z07:00')}"`;
  if (typeof value === 'string') return jsonString(value, writer);
  if (typeof value === 'number' && !Number.isFinite(value))
    throw new TemplateError(`json: unsupported value: ${value}`);
  if (Object.is(value, -0)) return '-0';
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (value instanceof GoList || value instanceof GoMap || value instanceof GoStruct) return 'null';
  return jsonString(stringerText(value), writer);
}

function jsonString(text: string, { style }: JsonWriter): string {
  const escaped = style.escapesHtml ? /[<>&\u2028\u2029]/g : /[\u2028\u2029]/g;
  return JSON.stringify(wellFormed(text)).replace(
    escaped,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
