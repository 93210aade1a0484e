import { TemplateError } from './template-error.ts';

/** A time zone: the seconds east of UTC at a time, and its abbreviation. */
export interface GoZone {
  readonly offsetSeconds: (epochMs: number) => number;
  /** @throws TemplateError if the abbreviation is not known. */
  readonly abbreviation: (epochMs: number) => string;
}

/** UTC, which is also the local time here. */
export const utcZone: GoZone = { offsetSeconds: () => 0, abbreviation: () => 'UTC' };

/** A zone that a time was written with; without a name its offset is shown. */
export function fixedZone(seconds: number, name = ''): GoZone {
  if (seconds === 0 && (name === '' || name === 'UTC')) return utcZone;
  return { offsetSeconds: () => seconds, abbreviation: () => (name === '' ? offsetText(seconds, '') : name) };
}

/** `+0130` or, with a colon, `+01:30`. */
export function offsetText(seconds: number, colon: string): string {
  const minutes = Math.floor(Math.abs(seconds) / 60);
  const [hours, rest] = [Math.floor(minutes / 60), minutes % 60];
  return `${seconds < 0 ? '-' : '+'}${String(hours).padStart(2, '0')}${colon}${String(rest).padStart(2, '0')}`;
}

/** The zone of an IANA name; undefined for an unknown one. `""` and `Local` are UTC. */
export function zoneOf(name: string): GoZone | undefined {
  if (name === '' || name === 'UTC' || name === 'Local') return utcZone;
  if (name.length > 64 || !/^[A-Za-z]/.test(name)) return undefined;
  try {
    const format = new Intl.DateTimeFormat('en-US', { timeZone: name, timeZoneName: 'longOffset' });
    return { offsetSeconds: (epochMs) => readOffset(format, epochMs), abbreviation: () => noAbbreviation(name) };
  } catch {
    return undefined;
  }
}

function readOffset(format: Intl.DateTimeFormat, epochMs: number): number {
  const text = format.formatToParts(epochMs).find(({ type }) => type === 'timeZoneName')?.value ?? '';
  const match = /GMT([-+])(\d\d):(\d\d)(?::(\d\d))?/.exec(text);
  if (match === null) return 0;
  const [, sign, hours, minutes, seconds = '0'] = match;
  return (sign === '-' ? -1 : 1) * (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds));
}

/** Node has no abbreviations such as CET, so a layout that prints them is refused. */
function noAbbreviation(name: string): string {
  throw new TemplateError(`the abbreviation of the time zone ${name} is not supported: print its offset (-0700)`);
}
