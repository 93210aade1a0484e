/**
 * Orders two resourceVersions of one kind: negative when `a` is older, 0 when equal, positive when newer. Kubernetes declares them
 * comparable as growing integers of any length; undefined when they are not that (some extension API servers).
 */
export function compareVersions(a: string, b: string): number | undefined {
  if (a === b) return 0;
  if (!decimal.test(a) || !decimal.test(b)) return undefined;
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : 1;
}

/** True when `a` is known to be older than `b`; where nothing is known the later word counts. */
export function isOlderVersion(a: string, b: string): boolean {
  const order = compareVersions(a, b);
  return order !== undefined && order < 0;
}

const decimal = /^(?:0|[1-9][0-9]*)$/;
