import { parseGoAtoi } from './go-number.ts';

const unitNs: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};
const goDurationPart = /(?=\.?[0-9])([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)/y;
const maxDurationNs = 2n ** 63n - 1n;

/**
 * Milliseconds of a Go duration ("1h30m", "250ms", "0"); undefined if the text is not one. Like
 * Go's time.ParseDuration, rejects a bare number other than 0 and anything beyond 2^63 nanoseconds
 * (292 years). Sums whole nanoseconds, so a duration of whole milliseconds stays an integer.
 */
export function parseGoDuration(text: string): number | undefined {
  const body = text.replace(/^[+-]/, '');
  if (body === '0') return 0;
  if (body === '') return undefined;
  let total = 0n;
  goDurationPart.lastIndex = 0;
  while (goDurationPart.lastIndex < body.length) {
    const match = goDurationPart.exec(body);
    if (match === null) return undefined;
    total += partNs(match);
  }
  if (total > maxDurationNs) return undefined;
  const ms = Number(total / 1_000_000n) + Number(total % 1_000_000n) / 1e6;
  return text.startsWith('-') ? -ms : ms;
}

function partNs([, whole = '', fraction = '', unit = '']: RegExpExecArray): bigint {
  const ns = unitNs[unit] ?? 0n;
  return BigInt(whole) * ns + (BigInt(fraction) * ns) / 10n ** BigInt(fraction.length);
}

/**
 * {@link parseGoDuration}, plus days such as `3d`, as Argo CD reads its environment and ConfigMaps.
 */
export function parseArgoDuration(text: string): number | undefined {
  const go = parseGoDuration(text);
  if (go !== undefined) return go;
  const days = /^([0-9]+)d$/.exec(text);
  return days === null ? undefined : Number(days[1]) * 86_400_000;
}

/** The form of retry.backoff.duration: a bare integer is seconds, else a Go duration. */
export function parseSecondsOrDuration(text: string): number | undefined {
  const seconds = parseGoAtoi(text);
  if (seconds === undefined) return parseGoDuration(text);
  const ns = BigInt(seconds) * 1_000_000_000n;
  return ns > maxDurationNs || ns < -maxDurationNs ? undefined : Number(seconds) * 1000;
}

/**
 * Formats as Go does: "1h0m0s", "1m30s", "1.5s", "250ms", "1.5µs", "0s". Exact to the nanosecond.
 */
export function formatGoDuration(ms: number): string {
  const abs = Math.abs(ms);
  const whole = Math.trunc(abs);
  const ns = BigInt(whole) * 1_000_000n + BigInt(Math.round((abs - whole) * 1e6));
  if (ns === 0n) return '0s';
  const sign = ms < 0 ? '-' : '';
  if (ns < 1_000n) return `${sign}${ns}ns`;
  if (ns < 1_000_000n) return `${sign}${decimalFraction(ns, 3)}µs`;
  if (ns < 1_000_000_000n) return `${sign}${decimalFraction(ns, 6)}ms`;
  const minutes = ns / 60_000_000_000n;
  const seconds = `${decimalFraction(ns % 60_000_000_000n, 9)}s`;
  if (minutes >= 60n) return `${sign}${minutes / 60n}h${minutes % 60n}m${seconds}`;
  return minutes > 0n ? `${sign}${minutes}m${seconds}` : `${sign}${seconds}`;
}

/** `value` / 10^places, without trailing zeros. */
function decimalFraction(value: bigint, places: number): string {
  const digits = String(value).padStart(places + 1, '0');
  return `${digits.slice(0, -places)}.${digits.slice(-places)}`.replace(/\.?0+$/, '');
}
