/** Texts that yaml.v3 reads as something other than a string, or that YAML 1.1 did. */
const otherTexts: ReadonlySet<string> = new Set(
  [
    ' ~ null Null NULL true True TRUE false False FALSE',
    '.nan .NaN .NAN .inf .Inf .INF +.inf +.Inf +.INF -.inf -.Inf -.INF',
    'y Y yes Yes YES on On ON n N no No NO off Off OFF',
  ].flatMap((line) => line.split(' ')),
);

const floatText = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;
const base60Text = /^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$/;
const intForms: readonly (readonly [RegExp, string])[] = [
  [/^[-+]?0[xX]([0-9a-fA-F]+)$/, '0x'],
  [/^[-+]?0[oO]?([0-7]+)$/, '0o'],
  [/^[-+]?0[bB]([01]+)$/, '0b'],
];
const maxUint64 = (1n << 64n) - 1n;
const maxNegative = 1n << 63n;

/** Whether a text without quotes would be read as the same text (encode.go, stringv). */
export function isPlainText(text: string): boolean {
  if (otherTexts.has(text)) return false;
  if (!/^[-+.0-9]/.test(text)) return true;
  return !(isNumberText(text) || base60Text.test(text) || isTimestamp(text));
}

function isNumberText(text: string): boolean {
  if (text.startsWith('.')) return isFloat(text.replace(/(?<=\d)_(?=\d)/g, ''));
  const plain = text.replaceAll('_', '');
  return isFloat(plain) || signedPrefix.test(plain) || isPrefixedInt(plain);
}

/** A sign after the prefix is read, but not one on both sides. */
const signedPrefix = /^0(?:b[-+][01]+|o[-+][0-7]+)$/;

/** A number beyond the range of floats is a string. */
function isFloat(text: string): boolean {
  return floatText.test(text) && Number.isFinite(Number(text));
}

function isPrefixedInt(text: string): boolean {
  for (const [form, prefix] of intForms) {
    const digits = form.exec(text)?.[1];
    if (digits === undefined) continue;
    const value = BigInt(`${prefix}${digits}`);
    // strconv.ParseUint accepts no sign.
    return text.startsWith('-') ? value <= maxNegative : value <= (text.startsWith('+') ? maxNegative - 1n : maxUint64);
  }
  return false;
}

const clock = '(\\d{1,2}):(\\d{1,2}):(\\d{1,2})(?:[.,]\\d+)?';
const dateText = /^(\d{4})-(\d{1,2})-(\d{1,2})(.*)$/s;
const zonedClock = new RegExp(`^[Tt]${clock}(?:Z|[-+](\\d{2}):(\\d{2}))$`);
const spacedClock = new RegExp(`^ ${clock}$`);

function isTimestamp(text: string): boolean {
  const parts = dateText.exec(text);
  if (parts === null) return false;
  const [year, month, day] = numbersOf(parts, 3);
  const rest = parts[4] ?? '';
  const time = zonedClock.exec(rest) ?? spacedClock.exec(rest);
  if (rest !== '' && (time === null || !isTime(numbersOf(time, 5)))) return false;
  return isDate(year ?? 0, month ?? 0, day ?? 0);
}

function numbersOf(parts: RegExpExecArray, count: number): readonly number[] {
  return Array.from({ length: count }, (_, i) => Number(parts[i + 1] ?? 0));
}

function isTime([hour = 0, minute = 0, second = 0, zoneHour = 0, zoneMinute = 0]: readonly number[]): boolean {
  return hour < 24 && minute < 60 && second < 60 && zoneHour <= 24 && zoneMinute < 60;
}

function isDate(year: number, month: number, day: number): boolean {
  if (month < 1 || month > 12 || day < 1) return false;
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  const days = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1] ?? 0;
  return day <= days;
}
