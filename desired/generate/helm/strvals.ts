/** One step of a path: the key of a map, or the index of a list as written. */
export type ValuePathStep = { readonly key: string } | { readonly index: string };

/**
 * The value of an assignment. `none` ensures an empty list; `open` is an empty text at the end of
 * the line.
 */
export type AssignedValue =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'list'; readonly items: readonly string[] }
  | { readonly kind: 'open' }
  | { readonly kind: 'none' };

export interface ValueAssignment {
  readonly path: readonly ValuePathStep[];
  readonly value: AssignedValue;
}

/** A line that helm refuses, with helm's message. */
export class SetLineError extends Error {
  override readonly name = 'SetLineError';
}

const maxNameDepth = 30;

/**
 * Parses a line like helm's `--set` and related flags (helm pkg/strvals): `a.b[0]=x,c={y,z}`, where
 * `\` escapes a character. Faults that depend on other values are left to helm.
 * @throws SetLineError
 */
export function parseSetLine(line: string): readonly ValueAssignment[] {
  return new SetLine(line).assignments();
}

/**
 * Formats a line that helm parses as exactly this assignment: escapes everything that could end a
 * key or a value.
 */
export function formatAssignment({ path, value }: ValueAssignment): string {
  const name = formatPath(path);
  switch (value.kind) {
    case 'text':
      // A trailing comma distinguishes an empty text from an open end.
      return `${name}=${formatValue(value.text)}${value.text === '' ? ',' : ''}`;
    case 'list':
      return `${name}={${value.items.map(formatItem).join(',')}}`;
    case 'open':
      return `${name}=`;
    case 'none':
      return name;
  }
}

export function formatPath(path: readonly ValuePathStep[]): string {
  return path
    .map((step, i) => ('index' in step ? `[${step.index}]` : `${i === 0 ? '' : '.'}${formatKey(step.key)}`))
    .join('');
}

function formatKey(key: string): string {
  return key.replaceAll(/[\\=[\],.{}]/g, '\\$&');
}

/** Escapes a value for an argument. A brace at the beginning would make it a list. */
function formatValue(text: string): string {
  return text.replaceAll(/[\\,]|^\{/g, '\\$&');
}

function formatItem(text: string): string {
  return text.replaceAll(/[\\,}]/g, '\\$&');
}

interface SetLineToken {
  readonly text: string;
  /** The character that ended it; undefined at the end of the line. */
  readonly end: string | undefined;
}

/** Helm stops here without an error, and leaves the rest of the line unset. */
const endOfLine = Symbol('end of the line');
type EndOfLine = typeof endOfLine;

class SetLine {
  readonly #chars: readonly string[];
  readonly #found: ValueAssignment[] = [];
  #at = 0;

  constructor(line: string) {
    this.#chars = [...line];
  }

  assignments(): readonly ValueAssignment[] {
    while (this.#key([], 0) !== endOfLine);
    return this.#found;
  }

  #key(before: readonly ValuePathStep[], level: number): EndOfLine | undefined {
    const { text, end } = this.#until('=[,.');
    const path = [...before, { key: text }];
    switch (end) {
      case undefined:
        if (text === '') return endOfLine;
        throw new SetLineError(`key ${JSON.stringify(text)} has no value`);
      case '[':
        return this.#index(path, level);
      case '=':
        this.#value(path);
        return undefined;
      case ',':
        throw new SetLineError(`key ${JSON.stringify(text)} has no value (cannot end with ,)`);
      default:
        if (level === maxNameDepth)
          throw new SetLineError(
            `value name nested level is greater than maximum supported nested level of ${maxNameDepth}`,
          );
        return this.#key(path, level + 1);
    }
  }

  #index(list: readonly ValuePathStep[], level: number): EndOfLine | undefined {
    const { text: index, end } = this.#until(']');
    if (end === undefined) {
      if ('index' in (list.at(-1) ?? {})) this.#found.push({ path: list, value: { kind: 'none' } });
      return endOfLine;
    }
    if (!/^[+-]?[0-9]+$/.test(index))
      throw new SetLineError(`error parsing index: strconv.Atoi: parsing ${JSON.stringify(index)}: invalid syntax`);
    if (/^-0*[1-9]/.test(index)) throw new SetLineError(`negative ${Number(index)} index not allowed`);
    const path = [...list, { index }];
    const next = this.#until('[.=');
    if (next.text !== '') throw new SetLineError(`unexpected data at end of array index: ${JSON.stringify(next.text)}`);
    if (next.end === undefined) {
      this.#found.push({ path, value: { kind: 'none' } });
      return endOfLine;
    }
    if (next.end === '[') return this.#index(path, level);
    if (next.end === '.') return this.#key(path, level);
    this.#value(path);
    return undefined;
  }

  #value(path: readonly ValuePathStep[]): void {
    const first = this.#chars[this.#at];
    if (first === undefined) this.#found.push({ path, value: { kind: 'open' } });
    else if (first === '{') this.#list(path);
    else this.#found.push({ path, value: { kind: 'text', text: this.#until(',').text } });
  }

  #list(path: readonly ValuePathStep[]): void {
    this.#at += 1;
    const items: string[] = [];
    for (let end: string | undefined = ','; end === ',';) {
      const item = this.#until(',}');
      if (item.end === undefined) throw new SetLineError("list must terminate with '}'");
      items.push(item.text);
      ({ end } = item);
    }
    if (this.#chars[this.#at] === ',') this.#at += 1;
    this.#found.push({ path, value: { kind: 'list', items } });
  }

  /**
   * Reads up to one of these characters, which is consumed. Like helm, drops a backslash at the end
   * of the line.
   */
  #until(stops: string): SetLineToken {
    let text = '';
    for (let char = this.#next(); char !== undefined; char = this.#next()) {
      if (stops.includes(char)) return { text, end: char };
      if (char !== '\\') text += char;
      else {
        const escaped = this.#next();
        if (escaped === undefined) return { text, end: undefined };
        text += escaped;
      }
    }
    return { text, end: undefined };
  }

  #next(): string | undefined {
    const char = this.#chars[this.#at];
    if (char !== undefined) this.#at += 1;
    return char;
  }
}
