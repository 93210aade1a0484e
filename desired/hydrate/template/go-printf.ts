import { formatE, formatF, formatG } from './go-float.ts';
import { leafText, printed, quoted, sprint } from './go-print.ts';
import { TemplateError } from './template-error.ts';
import type { TemplateBudget } from './template-budget.ts';
import { GoInt, GoList, GoMap, GoStruct, typeName } from './template-values.ts';
import type { TemplateValue } from './template-values.ts';

/** Widths and precisions beyond this are refused. */
const maxWidth = 1000;

interface Directive {
  readonly verb: string;
  readonly flags: string;
  readonly width: number | undefined;
  readonly precision: number | undefined;
}

const directiveForm = /%([-+# 0]*)((?:\[\d+\])?\*|\d*)(\.(?:(?:\[\d+\])?\*|\d*))?(\[\d+\])?(.)?/gsu;

/**
 * Formats as fmt.Sprintf. Verbs that print Go source or memory are refused.
 * @throws TemplateError
 */
export function sprintf(format: string, args: readonly TemplateValue[], budget: TemplateBudget): string {
  const state = new PrintfState(args, budget);
  let text = '';
  let at = 0;
  for (const match of format.matchAll(directiveForm)) {
    text += format.slice(at, match.index) + state.directive(match);
    budget.expectText(text.length);
    at = match.index + match[0].length;
  }
  return text + format.slice(at) + state.extra();
}

class PrintfState {
  readonly #args: readonly TemplateValue[];
  readonly #budget: TemplateBudget;
  #next = 0;
  #isReordered = false;

  constructor(args: readonly TemplateValue[], budget: TemplateBudget) {
    this.#args = args;
    this.#budget = budget;
  }

  directive([, flags = '', width = '', precision, index, verb]: RegExpExecArray): string {
    const shownWidth = this.#number(width);
    const shownPrecision = precision === undefined ? undefined : (this.#number(precision.slice(1)) ?? 0);
    if (index !== undefined) this.#seek(index);
    if (verb === undefined) return '%!(NOVERB)';
    if (verb === '%') return '%';
    const isLeft = shownWidth !== undefined && shownWidth < 0;
    if (this.#next < 0 || this.#next > this.#args.length) return `%!${verb}(BADINDEX)`;
    const value = this.#args[this.#next];
    if (value === undefined) return `%!${verb}(MISSING)`;
    this.#next += 1;
    const directive = {
      verb,
      flags: isLeft ? `${flags}-` : flags,
      width: shownWidth === undefined ? undefined : Math.abs(shownWidth),
      precision: shownPrecision === undefined || shownPrecision < 0 ? undefined : shownPrecision,
    };
    return formatted(value, directive, this.#budget);
  }

  /** The arguments that no directive took. */
  extra(): string {
    if (this.#isReordered || this.#next >= this.#args.length) return '';
    const shown = this.#args.slice(this.#next).map((value) => typed(value, this.#budget));
    return `%!(EXTRA ${shown.join(', ')})`;
  }

  /** A width or precision: digits, or `*` for the next argument. */
  #number(text: string): number | undefined {
    if (text === '') return undefined;
    const star = /^(\[\d+\])?\*$/.exec(text);
    if (star === null) return bounded(Number(text));
    if (star[1] !== undefined) this.#seek(star[1]);
    const value = this.#args[this.#next];
    this.#next += 1;
    if (!(value instanceof GoInt)) throw new TemplateError('a width or precision of printf is no int');
    return bounded(Number(value.value));
  }

  #seek(index: string): void {
    this.#next = Number(index.slice(1, -1)) - 1;
    this.#isReordered = true;
  }
}

function bounded(value: number): number {
  if (Math.abs(value) > maxWidth) throw new TemplateError(`printf with a width of ${value} is refused`);
  return value;
}

function typed(value: TemplateValue, budget: TemplateBudget): string {
  return value === null ? '<nil>' : `${typeName(value)}=${sprint(value, budget)}`;
}

function formatted(value: TemplateValue, directive: Directive, budget: TemplateBudget): string {
  const { verb, flags } = directive;
  if (verb === 'T') return padded(typeName(value), directive);
  if (verb === 'p' || (verb === 'v' && flags.includes('#')) || (verb === 'w' && value !== null))
    throw new TemplateError(`printf with %${flags.includes('#') ? '#' : ''}${verb} is not supported`);
  if (value === null) return verb === 'v' ? padded('<nil>', directive) : `%!${verb}(<nil>)`;
  if (value instanceof GoList || value instanceof GoMap || value instanceof GoStruct)
    return printed(
      value,
      { budget, length: 0, leaf: (inner) => (inner === null ? '<nil>' : scalar(inner, directive, budget)) },
      0,
    );
  return scalar(value, directive, budget);
}

function scalar(value: TemplateValue, directive: Directive, budget: TemplateBudget): string {
  const { verb } = directive;
  if (value === null) return verb === 'v' ? padded('<nil>', directive) : `%!${verb}(<nil>)`;
  const text = scalarText(value, directive);
  if (text !== undefined) return padded(text, directive, typeof value === 'number' || value instanceof GoInt);
  return `%!${verb}(${typed(value, budget)})`;
}

/** Undefined for a verb that the type does not have. */
function scalarText(value: TemplateValue, directive: Directive): string | undefined {
  const { verb } = directive;
  if (typeof value === 'boolean') return verb === 't' || verb === 'v' ? String(value) : undefined;
  if (typeof value === 'number') return floatText(value, directive);
  if (typeof value === 'string') return stringText(value, directive);
  if (value instanceof GoInt && !(value.type.startsWith('time.') && 'vsqxX'.includes(verb)))
    return intText(value.value, directive);
  const text = stringText(leafText(value), directive);
  if (text === undefined) throw new TemplateError(`printf with %${verb} of a ${typeName(value)} is not supported`);
  return text;
}

function stringText(text: string, { verb, flags, precision }: Directive): string | undefined {
  const shown = precision === undefined ? text : [...text].slice(0, precision).join('');
  switch (verb) {
    case 's':
    case 'v':
      return shown;
    case 'q':
      return flags.includes('#') && !/[`\u0000-\u0008\u000a-\u001f\u007f\ufeff]/.test(shown)
        ? `\`${shown}\``
        : quoted(shown);
    case 'x':
    case 'X':
      return hexText(Buffer.from(text).subarray(0, precision), { verb, flags });
    default:
      return undefined;
  }
}

function hexText(bytes: Buffer, { verb, flags }: Pick<Directive, 'verb' | 'flags'>): string {
  const prefix = flags.includes('#') ? '0x' : '';
  const pairs = [...bytes].map((byte) => byte.toString(16).padStart(2, '0'));
  if (pairs.length === 0) return '';
  const text = flags.includes(' ') ? pairs.map((pair) => prefix + pair).join(' ') : prefix + pairs.join('');
  return verb === 'X' ? text.toUpperCase() : text;
}

const radixes: Readonly<Record<string, number>> = { d: 10, v: 10, b: 2, o: 8, O: 8, x: 16, X: 16 };

function intText(value: bigint, directive: Directive): string | undefined {
  const { verb, flags, precision, width } = directive;
  const radix = radixes[verb];
  if (radix === undefined) return codeText(value, verb);
  if (precision === 0 && value === 0n) return '';
  const sign = signOf(value < 0n, flags);
  const filled = isFilled(directive) && precision === undefined ? (width ?? 0) - sign.length : (precision ?? 0);
  const digits = (value < 0n ? -value : value).toString(radix).padStart(filled, '0');
  const text = `${sign}${prefixOf(verb, flags, digits)}${digits}`;
  return verb === 'X' ? text.toUpperCase() : text;
}

/** A number as the character that it is the code of. */
function codeText(value: bigint, verb: string): string | undefined {
  const code = Number(value);
  const isCode = code >= 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
  const char = isCode ? String.fromCodePoint(code) : '\ufffd';
  if (verb === 'c') return char;
  if (verb === 'q') return quoted(char, "'");
  return verb === 'U' ? `U+${value.toString(16).toUpperCase().padStart(4, '0')}` : undefined;
}

/** Zeros fill the width. */
function isFilled({ flags }: Directive): boolean {
  return flags.includes('0') && !flags.includes('-');
}

function prefixOf(verb: string, flags: string, digits: string): string {
  if (verb === 'O') return '0o';
  if (!flags.includes('#')) return '';
  if (verb === 'o') return digits.startsWith('0') ? '' : '0';
  return { b: '0b', x: '0x', X: '0X' }[verb] ?? '';
}

function signOf(isNegative: boolean, flags: string): string {
  if (isNegative) return '-';
  if (flags.includes('+')) return '+';
  return flags.includes(' ') ? ' ' : '';
}

function floatText(value: number, directive: Directive): string | undefined {
  const { verb, flags, width } = directive;
  const text = unsignedFloat(value, directive);
  if (text === undefined) return undefined;
  const isInfinite = text.endsWith('Inf');
  const body = text.replace(/^[-+]/, '');
  const sign = signOf(text.startsWith('-'), flags) || (isInfinite ? '+' : '');
  const isPadded = isFilled(directive) && Number.isFinite(value);
  const shown = verb === 'E' || verb === 'G' ? body.replace('e', 'E') : body;
  return sign + (isPadded ? shown.padStart((width ?? 0) - sign.length, '0') : shown);
}

function unsignedFloat(value: number, { verb, precision }: Directive): string | undefined {
  if (precision !== undefined && precision > 100)
    throw new TemplateError(`printf with a precision of ${precision} is refused`);
  switch (verb.toLowerCase()) {
    case 'e':
      return formatE(value, precision ?? 6);
    case 'f':
      return formatF(value, precision ?? 6);
    case 'g':
      return formatG(value, precision);
    case 'v':
      return verb === 'v' ? formatG(value, precision) : undefined;
    case 'b':
    case 'x':
      throw new TemplateError(`printf with %${verb} of a float64 is not supported`);
    default:
      return undefined;
  }
}

function padded(text: string, { flags, width }: Directive, isNumber = false): string {
  if (width === undefined) return text;
  const missing = width - [...text].length;
  if (missing <= 0) return text;
  if (flags.includes('-')) return text + ' '.repeat(missing);
  return (flags.includes('0') && !isNumber ? '0' : ' ').repeat(missing) + text;
}
