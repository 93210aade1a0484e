const unitMs: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};
const goPart = /([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)/y;

/**
 * Milliseconds of a Go duration ("1h30m", "250ms", "0"), undefined when it is not one. As Go's time.ParseDuration: a bare
 * number other than 0 is not a duration, nor is anything beyond 2^63 nanoseconds (292 years).
 */
export function parseGoDuration(text: string): number | undefined {
  const sign = text.startsWith('-') ? -1 : 1;
  const body = text.replace(/^[+-]/, '');
  if (body === '0') return 0;
  if (body === '') return undefined;
  let total = 0;
  goPart.lastIndex = 0;
  while (goPart.lastIndex < body.length) {
    const match = goPart.exec(body);
    if (match === null) return undefined;
    total += Number(match[1]) * (unitMs[match[2] ?? ''] ?? Number.NaN);
  }
  return total * 1e6 > 2 ** 63 ? undefined : sign * total;
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
  const ns = Math.round(Math.abs(ms) * 1e6);
  if (ns === 0) return '0s';
  const sign = ms < 0 ? '-' : '';
  if (ns < 1e3) return `${sign}${ns}ns`;
  if (ns < 1e6) return `${sign}${trim(ns / 1e3)}µs`;
  if (ns < 1e9) return `${sign}${trim(ns / 1e6)}ms`;
  // Whole seconds and their fraction apart: a double cannot carry a century of nanoseconds through a division.
  const whole = Math.floor(ns / 1e9);
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor((whole % 3600) / 60);
  const seconds = trim((whole % 60) + (ns % 1e9) / 1e9);
  if (hours > 0) return `${sign}${hours}h${minutes}m${seconds}s`;
  return minutes > 0 ? `${sign}${minutes}m${seconds}s` : `${sign}${seconds}s`;
}

function trim(value: number): string {
  return String(Number(value.toFixed(9)));
}
