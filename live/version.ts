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

const decimal = /^(?:0|[1-9][0-9]*)$/;
