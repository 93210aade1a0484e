/** A log line before it is written as text: the envelope, and the fields beside it. */
export interface LogRecord {
  readonly time: string;
  readonly level: string;
  readonly msg: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/**
 * Writes a line as logrus' TextFormatter does away from a terminal: time, level and msg, then the
 * fields by key, values quoted where they have other characters than `A-Za-z0-9-._/@^+`.
 *
 * Difference: logrus writes keys as they are; here characters that would begin another field or
 * line are replaced by `_`.
 */
export function logfmtLine({ time, level, msg, fields }: LogRecord): string {
  const envelope = [`time=${logfmtValue(time)}`, `level=${logfmtValue(level)}`];
  if (msg !== '') envelope.push(`msg=${logfmtValue(msg)}`);
  return `${[...envelope, ...sortedFields(fields).map(([key, value]) => `${key}=${value}`)].join(' ')}\n`;
}

const colors: Readonly<Record<string, string>> = { debug: '2;36', info: '36', warning: '33', error: '31' };

/**
 * Writes a line as logrus does on a terminal.
 * @param mark what follows the level in brackets: the time, or the seconds since the start.
 */
export function terminalLine({ level, msg, fields }: Omit<LogRecord, 'time'>, mark: string): string {
  const colored = (text: string): string => `\u001b[${colors[level] ?? '36'}m${text}\u001b[0m`;
  const shown = msg.replaceAll('\n', String.raw`\n`).padEnd(44);
  const rest = sortedFields(fields).map(([key, value]) => ` ${colored(key)}=${value}`);
  return `${colored(level.toUpperCase().slice(0, 4))}[${mark}] ${shown} ${rest.join('')}\n`;
}

function sortedFields(fields: Readonly<Record<string, unknown>>): readonly (readonly [string, string])[] {
  return Object.keys(fields)
    .sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
    .map((key) => [key.replace(/^$|[\s="\p{C}]/gu, '_'), logfmtValue(fields[key])]);
}

function logfmtValue(value: unknown): string {
  const text = goText(value);
  // logrus never quotes numbers.
  if (typeof value === 'number' || /^[A-Za-z0-9\-._/@^+]*$/.test(text)) return text;
  return goQuote(text);
}

/** A value as Go's fmt.Sprint shows it: `[a b]`, `map[a:1 b:2]`, `<nil>`. */
function goText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return goNumber(value);
  if (value === null || value === undefined) return '<nil>';
  if (Array.isArray(value)) return `[${value.map(goText).join(' ')}]`;
  if (typeof value === 'boolean') return String(value);
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `map[${members.map(([key, member]) => `${key}:${goText(member)}`).join(' ')}]`;
}

/** Go changes to exponents below 1e-4 (JavaScript: 1e-6), and writes them with two digits. */
function goNumber(value: number): string {
  const size = Math.abs(value);
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'NaN' : `${value > 0 ? '+' : '-'}Inf`;
  if (size === 0 || (size >= 1e-4 && size < 1e21)) return String(value);
  return value.toExponential().replace(/e([+-])(\d)$/, 'e$10$2');
}

const shortEscapes: Readonly<Record<string, string>> = {
  '"': String.raw`\"`,
  '\\': String.raw`\\`,
  '\u0007': String.raw`\a`,
  '\b': String.raw`\b`,
  '\f': String.raw`\f`,
  '\n': String.raw`\n`,
  '\r': String.raw`\r`,
  '\t': String.raw`\t`,
  '\v': String.raw`\v`,
};

/** A text as Go's strconv.Quote writes it: one line, whatever it contains. */
export function goQuote(text: string): string {
  return `"${text.replace(/["\\]|[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, goEscape)}"`;
}

function goEscape(char: string): string {
  const short = shortEscapes[char];
  if (short !== undefined) return short;
  const code = char.codePointAt(0) ?? 0;
  // Half of a surrogate pair.
  if (code >= 0xd800 && code <= 0xdfff) return '\ufffd';
  const hex = code.toString(16);
  if (code < 0x20 || code === 0x7f) return String.raw`\x` + hex.padStart(2, '0');
  return code < 0x10000 ? String.raw`\u` + hex.padStart(4, '0') : String.raw`\U` + hex.padStart(8, '0');
}
