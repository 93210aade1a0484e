// An ESLint rule of our own: a repeated group in which another repeat could take what the outer one takes. Such an expression tries every way to
// share a text out between the two before it says no: `(a+)+b` on 40 letters takes hours. In `(?:\.[a-z]+)*` the dot ends each turn: no harm.
// `@eslint-community/regexpp` comes with eslint. Where an expression needs more, write a scanner; for patterns that others write use compileLinearPattern of #base.
import { parseRegExpLiteral, visitRegExpAST } from '@eslint-community/regexpp';

const message =
  'A repeat in a repeat that can take the same text needs exponential time: end each turn with a character that the inner one does not take, or write a scanner.';

/** More turns than this are as bad as any number. */
const manyTurns = 10;
const ascii = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code));

function isLong(node) {
  return node.type === 'Quantifier' && node.max > manyTurns;
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

/** The characters that an element of one character takes; undefined for any other element. */
function charactersOf(node, flags) {
  if (node.type !== 'Character' && node.type !== 'CharacterSet' && node.type !== 'CharacterClass') return undefined;
  const test = new RegExp(`^${node.raw}$`, flags.replace(/[gy]/g, ''));
  return new Set(ascii.filter((character) => test.test(character)));
}

/** The elements of a turn, with those of groups that are there exactly once. */
function flat(elements) {
  return elements.flatMap((element) => {
    const isPlain =
      (element.type === 'Group' || element.type === 'CapturingGroup') && element.alternatives.length === 1;
    return isPlain ? flat(element.alternatives[0].elements) : [element];
  });
}

/** Whether one turn can be cut in two, each a turn by itself. */
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

/** True for an expression that no text may meet. @param {string} literal with its slashes and flags */
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
        // Not a regular expression at all: the compiler says so.
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
