// An ESLint rule: reports a repeated group that contains another repeat of the same characters.
// Such an expression tries every way to split a text between the two before it fails: `(a+)+b`
// takes hours on 40 letters. `(?:\.[a-z]+)*` is fine, because the dot delimits the iterations.
// Instead, write a scanner; for patterns of users see compileLinearPattern of #base.
// `@eslint-community/regexpp` comes with eslint.
import { parseRegExpLiteral, visitRegExpAST } from '@eslint-community/regexpp';

const message =
  'Nested repeats that match the same text take exponential time: end each iteration with a character that the inner repeat does not match, or write a scanner.';

/** A repeat with a higher maximum counts as unbounded. */
const maxHarmlessRepeats = 10;
const ascii = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code));

function isLong(node) {
  return node.type === 'Quantifier' && node.max > maxHarmlessRepeats;
}

function isNullable(node) {
  switch (node.type) {
    case 'Quantifier':
      return node.min === 0 || isNullable(node.element);
    case 'Group':
    case 'CapturingGroup':
      return node.alternatives.some(({ elements }) => elements.every(isNullable));
    case 'Assertion':
      return true;
    default:
      return false;
  }
}

/** The ASCII characters that a single-character element matches; undefined for other elements. */
function charactersOf(node, flags) {
  if (node.type !== 'Character' && node.type !== 'CharacterSet' && node.type !== 'CharacterClass') return undefined;
  const test = new RegExp(`^${node.raw}$`, flags.replace(/[gy]/g, ''));
  return new Set(ascii.filter((character) => test.test(character)));
}

/** The elements of an iteration, with groups without alternatives replaced by their elements. */
function flat(elements) {
  return elements.flatMap((element) => {
    const isPlain =
      (element.type === 'Group' || element.type === 'CapturingGroup') && element.alternatives.length === 1;
    return isPlain ? flat(element.alternatives[0].elements) : [element];
  });
}

/** Whether the text of one iteration can also be matched as two iterations. */
function isAmbiguous({ elements }, flags) {
  const parts = flat(elements);
  const repeats = parts.filter(isLong);
  if (repeats.length === 0) return false;
  const taken = repeats.map(({ element }) => charactersOf(element, flags));
  const delimiters = parts.filter((part) => !isLong(part) && !isNullable(part));
  return !delimiters.some((delimiter) => {
    const own = charactersOf(delimiter, flags);
    return own !== undefined && taken.every((set) => set !== undefined && [...own].every((one) => !set.has(one)));
  });
}

/**
 * Whether an expression may take exponential time. @param {string} literal with slashes and flags
 */
export function hasNestedQuantifiers(literal) {
  const ast = parseRegExpLiteral(literal);
  const flags = ast.flags.raw;
  let found = false;
  visitRegExpAST(ast, {
    onQuantifierEnter(node) {
      const { element } = node;
      if (!isLong(node) || (element.type !== 'Group' && element.type !== 'CapturingGroup')) return;
      if (element.alternatives.some((alternative) => isAmbiguous(alternative, flags))) found = true;
    },
  });
  return found;
}

export const noNestedQuantifiers = {
  meta: { type: 'problem', schema: [], messages: { nested: message } },
  create(context) {
    const check = (node, literal) => {
      let bad = false;
      try {
        bad = hasNestedQuantifiers(literal);
      } catch {
        // Not a regular expression: the compiler reports it.
      }
      if (bad) context.report({ node, messageId: 'nested' });
    };
    const fromText = (node) => {
      const [pattern, flags] = node.arguments;
      if (node.callee.name !== 'RegExp' || typeof pattern?.value !== 'string') return;
      check(node, `/${pattern.value.replaceAll('/', '\\/')}/${typeof flags?.value === 'string' ? flags.value : ''}`);
    };
    return {
      Literal(node) {
        if (node.regex !== undefined) check(node, `/${node.regex.pattern}/${node.regex.flags}`);
      },
      NewExpression: fromText,
      CallExpression: fromText,
    };
  },
};
