/** RFC 3339 in UTC with milliseconds; undefined if it is no time. */
export function isoTime(ms: number): string | undefined {
  return Number.isFinite(ms) && Math.abs(ms) < 8.64e15 ? new Date(ms).toISOString() : undefined;
}

/** A stored time in the same form; undefined if it is missing or invalid. */
export function isoTimeOf(text: string | null | undefined): string | undefined {
  return text === undefined || text === null ? undefined : isoTime(Date.parse(text));
}
