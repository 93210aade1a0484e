/** A value of a template: a map, a list, a struct or a scalar. */
export type TemplateValue =
  string | number | boolean | null | GoStruct | readonly TemplateValue[] | { readonly [name: string]: TemplateValue };

/** A value whose fields are fixed: reading another one is an error. */
export class GoStruct {
  readonly type: string;
  readonly fields: Readonly<Record<string, TemplateValue>>;

  constructor(type: string, fields: Readonly<Record<string, TemplateValue>>) {
    this.type = type;
    this.fields = fields;
  }
}

/** Go's truth: not zero, not empty, not nil. */
export function isTrue(value: TemplateValue): boolean {
  if (value instanceof GoStruct) return true;
  if (Array.isArray(value)) return value.length > 0;
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0;
  return Boolean(value);
}

/** The text that an action writes (fmt.Print). */
export function printed(value: TemplateValue): string {
  if (value === null) return '<no value>';
  if (value instanceof GoStruct) return `{${Object.values(value.fields).map(printed).join(' ')}}`;
  if (Array.isArray(value)) return `[${(value as readonly TemplateValue[]).map(printed).join(' ')}]`;
  if (typeof value !== 'object') return String(value);
  const entries = Object.entries(value as Readonly<Record<string, TemplateValue>>).sort(([a], [b]) => (a < b ? -1 : 1));
  return `map[${entries.map(([key, member]) => `${key}:${printed(member)}`).join(' ')}]`;
}
