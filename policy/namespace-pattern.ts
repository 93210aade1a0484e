import { compileLinearPattern, globMatch } from '#base';

/**
 * A namespace pattern of `sourceNamespaces` and of the list of application namespaces: a glob, or a regular expression between slashes
 * that may match anywhere (Argo CD: util/glob MatchStringInList with REGEXP).
 *
 * Difference: a match takes time in proportion to the text, whatever the pattern, because the engine is RE2. What it cannot do (look-around,
 * back references) or reads in another way than Argo CD's engine matches nothing: {@link namespacePatternFault} says so.
 */
export function matchesNamespacePattern(pattern: string, namespace: string): boolean {
  const source = sourceOf(pattern);
  if (source !== undefined) {
    const compiled = compileLinearPattern(source);
    if (compiled.ok && foreignTo(source) === undefined && compiled.test(namespace)) return true;
  }
  return globMatch(pattern, namespace);
}

/** Why a pattern between slashes matches nothing as a regular expression; undefined when it is in order, or a glob. */
export function namespacePatternFault(pattern: string): string | undefined {
  const source = sourceOf(pattern);
  if (source === undefined) return undefined;
  const compiled = compileLinearPattern(source);
  if (!compiled.ok) return compiled.message;
  const found = foreignTo(source);
  return found === undefined ? undefined : `${found} is read differently by different engines: write it in another way`;
}

/** What is between the slashes. Two slashes alone hold nothing, which would match everything: that is taken for a slip. */
function sourceOf(pattern: string): string | undefined {
  return pattern.length > 2 && pattern.startsWith('/') && pattern.endsWith('/') ? pattern.slice(1, -1) : undefined;
}

/** What RE2 takes and Argo CD's engine (.NET's syntax) refuses or understands otherwise, so that more could match here than there. */
const foreign = /\\[QEC_]|\\[pP]\{\^?[^}]{3,}\}|\(\?[A-Za-z]*(?:-[A-Za-z]+)?\)(?=[*+?{])|\(\?P/;
/** The same inside of brackets: named classes are letters there, and a class in a class is taken off. */
const foreignInClass = /\[:|-\[/;

function foreignTo(source: string): string | undefined {
  // A class ends with its first bracket that is neither escaped nor its first character.
  const classes = /\\.|\[(\^?\]?(?:[^\]\\]|\\.)*)/gsu;
  for (const [, content = ''] of source.matchAll(classes)) {
    const [found] = foreignInClass.exec(content) ?? [];
    if (found !== undefined) return found;
  }
  return foreign.exec(source.replaceAll('\\\\', '  '))?.[0];
}
