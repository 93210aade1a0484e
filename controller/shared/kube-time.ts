/** How far clocks of replicas may differ: a stored time that is later than that is not believed. */
export const believedSkewMs = 60_000;

/** Formats a time as Kubernetes stores it: UTC, whole seconds. */
export function kubeTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

/** Parses a stored time to milliseconds; undefined if it is missing or invalid. */
export function parseTime(text: string | null | undefined): number | undefined {
  if (text === undefined || text === null || text === '') return undefined;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? undefined : ms;
}
