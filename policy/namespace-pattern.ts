import { compileLinearPattern, globMatch } from '#base';

/**
 * Matches a namespace pattern of `sourceNamespaces` or of the application namespaces: a glob, or a
 * regular expression between slashes that may match anywhere (Argo CD: util/glob MatchStringInList
 * with REGEXP). Difference: RE2 matches in linear time. Patterns that it does not support
 * (look-around, back references) or reads differently from Argo CD's engine match nothing; {@link
 * namespacePatternFault} explains why.
 */
export function matchesNamespacePattern(pattern: string, namespace: string): boolean {
  const source = sourceOf(pattern);
  if (source !== undefined) {
    const compiled = compileLinearPattern(source);
    if (compiled.ok && foreignTo(source) === undefined && compiled.test(namespace)) return true;
  }
  return globMatch(pattern, namespace);
}

/** Why a regular expression matches nothing; undefined if it is valid, or a glob. */
export function namespacePatternFault(pattern: string): string | undefined {
  const source = sourceOf(pattern);
  if (source === undefined) return undefined;
  const compiled = compileLinearPattern(source);
  if (!compiled.ok) return compiled.message;
  const found = foreignTo(source);
  return found === undefined
    ? undefined
    : `${found} is read differently by different engines: rewrite the pattern without it`;
}

/**
 * The text between the slashes. `//` is taken for a mistake: an empty expression would match
 * everything.
 */
function sourceOf(pattern: string): string | undefined {
  return pattern.length > 2 && pattern.startsWith('/') && pattern.endsWith('/') ? pattern.slice(1, -1) : undefined;
}

/**
 * Syntax that RE2 accepts, but Argo CD's engine (.NET syntax) rejects or reads differently, so that
 * more could match here.
 */
const incompatibleSyntax = /\\[QEC_]|\\[pP]\{\^?[^}]{3,}\}|\(\?[A-Za-z]*(?:-[A-Za-z]+)?\)(?=[*+?{])|\(\?P/;
/** The same inside brackets: named classes are letters there, and nested classes are subtracted. */
const incompatibleClassSyntax = /\[:|-\[/;

function foreignTo(source: string): string | undefined {
  // A class ends with its first bracket that is neither escaped nor its first character.
  const characterClasses = /\\.|\[(\^?\]?(?:[^\]\\]|\\.)*)/gsu;
  for (const [, content = ''] of source.matchAll(characterClasses)) {
    const [found] = incompatibleClassSyntax.exec(content) ?? [];
    if (found !== undefined) return found;
  }
  return incompatibleSyntax.exec(source.replaceAll('\\\\', '  '))?.[0];
}
