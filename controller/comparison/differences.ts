import type { Comparison } from '#compare';

const maxShownDifferences = 20;

/** The first differences as `<Kind>/<name>: <paths>`, without values. */
export function describeDifferences(comparison: Comparison): readonly string[] {
  const lines: string[] = [];
  for (const { key, live, target, diff, hook, own, unread } of comparison.pairs) {
    if (hook || !own || unread === true || !(diff.modified || live === null || target === null)) continue;
    const what = live === null ? 'is missing' : target === null ? 'is not in the manifests' : diff.paths.join(', ');
    lines.push(`${key}: ${what}`);
  }
  return lines.sort().slice(0, maxShownDifferences);
}
