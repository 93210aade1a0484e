/**
 * Compares two resourceVersions of one kind: negative if `a` is older, 0 if equal, positive if
 * newer. Kubernetes defines them as increasing integers of any length. Returns undefined for other
 * versions, which some extension API servers use.
 */
export function compareVersions(a: string, b: string): number | undefined {
  if (a === b) return 0;
  if (!decimal.test(a) || !decimal.test(b)) return undefined;
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : 1;
}

/**
 * Whether `a` is known to be older than `b`. If the two cannot be compared, the result is false:
 * callers then believe the message that arrived later.
 */
export function isOlderVersion(a: string, b: string): boolean {
  const order = compareVersions(a, b);
  return order !== undefined && order < 0;
}

const decimal = /^(?:0|[1-9][0-9]*)$/;
