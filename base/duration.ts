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
const goPart = /(?=\.?[0-9])([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)/y;
const longestNs = 2n ** 63n - 1n;

/**
 * Milliseconds of a Go duration ("1h30m", "250ms", "0"), undefined when it is not one. As Go's time.ParseDuration: a bare
 * number other than 0 is not a duration, nor is anything beyond 2^63 nanoseconds (292 years). Summed in whole nanoseconds, so that
 * what has no part of a millisecond stays an integer.
 */
export function parseGoDuration(text: string): number | undefined {
  const body = text.replace(/^[+-]/, '');
  if (body === '0') return 0;
  if (body === '') return undefined;
  let total = 0n;
  goPart.lastIndex = 0;
  while (goPart.lastIndex < body.length) {
    const match = goPart.exec(body);
    if (match === null) return undefined;
    total += partNs(match);
  }
  if (total > longestNs) return undefined;
  const ms = Number(total / 1_000_000n) + Number(total % 1_000_000n) / 1e6;
  return text.startsWith('-') ? -ms : ms;
}

function partNs([, whole = '', fraction = '', unit = '']: RegExpExecArray): bigint {
  const ns = unitNs[unit] ?? 0n;
  return BigInt(whole) * ns + (BigInt(fraction) * ns) / 10n ** BigInt(fraction.length);
}

/** As {@link parseGoDuration}, then `3d`-like days, as Argo CD reads its environment and ConfigMaps. */
export function parseArgoDuration(text: string): number | undefined {
  const go = parseGoDuration(text);
  if (go !== undefined) return go;
  const days = /^([0-9]+)d$/.exec(text);
  return days === null ? undefined : Number(days[1]) * 86_400_000;
}

/** "bare integer = seconds, else a Go duration": the form of retry.backoff.duration. */
export function parseSecondsOrDuration(text: string): number | undefined {
  return /^-?[0-9]+$/.test(text) ? Number(text) * 1000 : parseGoDuration(text);
}

/** As Go prints it: "1h0m0s", "1m30s", "1.5s", "250ms", "1.5µs", "0s". Exact to the nanosecond. */
export function formatGoDuration(ms: number): string {
  const abs = Math.abs(ms);
  const whole = Math.trunc(abs);
  const ns = BigInt(whole) * 1_000_000n + BigInt(Math.round((abs - whole) * 1e6));
  if (ns === 0n) return '0s';
  const sign = ms < 0 ? '-' : '';
  if (ns < 1_000n) return `${sign}${ns}ns`;
  if (ns < 1_000_000n) return `${sign}${decimal(ns, 3)}µs`;
  if (ns < 1_000_000_000n) return `${sign}${decimal(ns, 6)}ms`;
  const minutes = ns / 60_000_000_000n;
  const seconds = `${decimal(ns % 60_000_000_000n, 9)}s`;
  if (minutes >= 60n) return `${sign}${minutes / 60n}h${minutes % 60n}m${seconds}`;
  return minutes > 0n ? `${sign}${minutes}m${seconds}` : `${sign}${seconds}`;
}

/** `value` / 10^places, without zeros at the end. */
function decimal(value: bigint, places: number): string {
  const digits = String(value).padStart(places + 1, '0');
  return `${digits.slice(0, -places)}.${digits.slice(-places)}`.replace(/\.?0+$/, '');
}
