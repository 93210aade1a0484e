/** `**` as a whole segment, a class, an escaped character, any other character. */
const token = /(?<=^|\/)\*\*(?:\/|$)|\[[!^]?(?:\\.|[^\]\\])+\]|\\.|[\s\S]/gu;

/**
 * A test for paths by a pattern as Go's doublestar reads it: `*` and `?` stay in one segment, `**` as a whole segment spans any number of
 * them, none included; classes, and alternatives in braces. Braces that are not closed are text.
 */
export function compilePathGlob(pattern: string): (path: string) => boolean {
  const parts = pattern.match(token) ?? [];
  const isBalanced = parts.filter((part) => part === '{').length === parts.filter((part) => part === '}').length;
  let depth = 0;
  const source = parts.map((part) => {
    if (!isBalanced) return translated(part);
    if (part === '{') depth += 1;
    if (part === '}') depth -= 1;
    if (part === '{') return '(?:';
    if (part === '}') return ')';
    return part === ',' && depth > 0 ? '|' : translated(part);
  });
  try {
    const test = new RegExp(`^${source.join('')}$`, 'su');
    return (path) => test.test(path);
  } catch {
    // A class with its ends in the wrong order, braces that close before they open.
    return () => false;
  }
}

function translated(part: string): string {
  if (part === '**/') return '(?:[^/]+/)*';
  if (part === '**') return '.*';
  if (part === '*') return '[^/]*';
  if (part === '?') return '[^/]';
  if (part.startsWith('[') && part.length > 1) {
    const isNegated = /^\[[!^]/.test(part);
    const members = part.slice(isNegated ? 2 : 1, -1).replaceAll(/[[\]^&~|]/g, '\\$&');
    return `(?!/)[${isNegated ? '^' : ''}${members}]`;
  }
  return escaped(part.length > 1 && part.startsWith('\\') ? part.slice(1) : part);
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\/]/g, '\\$&');
}
