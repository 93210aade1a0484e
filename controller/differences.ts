import type { Comparison } from '#compare';

const shownDifferences = 20;

/** What differs, without values: of the first of them, `<Kind>/<name>: <paths>`. */
export function differences(comparison: Comparison): readonly string[] {
  const lines: string[] = [];
  for (const { key, live, target, diff, hook, own, unread } of comparison.pairs) {
    if (hook || !own || unread === true || !(diff.modified || live === null || target === null)) continue;
    const what = live === null ? 'is missing' : target === null ? 'is not in the manifests' : diff.paths.join(', ');
    lines.push(`${key}: ${what}`);
  }
  return lines.sort().slice(0, shownDifferences);
}
