const maxLength = 256;

/**
 * Go's engine is linear and ours is not: true for a pattern that could take very long (a repeated group that repeats or branches inside,
 * back references, more than three open-ended repeats, more than 256 characters).
 */
export function mayExplode(pattern: string): boolean {
  if (pattern.length > maxLength) return true;
  const bare = pattern
    .replace(/\\[1-9]/g, '(a*)*')
    .replace(/\\./gs, 'x')
    .replace(/\[\^?\]?[^\]]*\]/g, 'x');
  if (/\([^()]*(?:[*+|{]|\([^()]*\)[*+{])[^()]*\)(?:[*+]|\{[0-9]+,)/.test(bare)) return true;
  return (bare.match(/[*+]|\{[0-9]+,/g) ?? []).length > 3;
}

/** A regular expression of jq's `test`, with its flags `i` and `s`, also when they are written inline; undefined when it is not one. */
export function compilePattern(source: string, flags: string): RegExp | undefined {
  const inline = /^\(\?([ims]+)\)/.exec(source);
  const body = inline === null ? source : source.slice(inline[0].length);
  const wanted = new Set([...`${inline?.[1] ?? ''}${flags}`].filter((flag) => 'is'.includes(flag)));
  try {
    return new RegExp(body, `u${[...wanted].join('')}`);
  } catch {
    return undefined;
  }
}
