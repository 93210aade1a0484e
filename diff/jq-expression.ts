/** The part of jq that names paths. */
export type Expression =
  | { readonly kind: 'identity' | 'recurse' | 'empty' }
  | { readonly kind: 'field'; readonly from: Expression; readonly name: Expression }
  | { readonly kind: 'iterate'; readonly from: Expression }
  | { readonly kind: 'try'; readonly body: Expression }
  | { readonly kind: 'literal'; readonly value: null | boolean | number | string }
  | { readonly kind: 'list'; readonly body: Expression }
  | {
      readonly kind: 'pipe' | 'comma' | 'and' | 'or' | 'alternative';
      readonly left: Expression;
      readonly right: Expression;
    }
  | { readonly kind: 'compare'; readonly operator: Comparison; readonly left: Expression; readonly right: Expression }
  | { readonly kind: 'call'; readonly name: string; readonly args: readonly Expression[] }
  | { readonly kind: 'if'; readonly condition: Expression; readonly then: Expression; readonly otherwise: Expression }
  | {
      readonly kind: 'slice';
      readonly from: Expression;
      readonly low: Expression | undefined;
      readonly high: Expression | undefined;
    }
  /** Understood, and not evaluated. `places`: it may come to places in its input; else never. */
  | { readonly kind: 'opaque'; readonly what: string; readonly places: boolean };

export type Comparison = '==' | '!=' | '<' | '<=' | '>' | '>=';

const placesOf = new Set(['select', 'first', 'last', 'getpath']);

const placeless = new Set(['literal', 'list', 'and', 'or', 'compare']);

/** Can none of its results be a place in its input? */
export function isPlaceless(expression: Expression): boolean {
  switch (expression.kind) {
    case 'opaque':
      return !expression.places;
    case 'call':
      return !placesOf.has(expression.name);
    case 'pipe':
      return isPlaceless(expression.left) || isPlaceless(expression.right);
    case 'comma':
    case 'alternative':
      return isPlaceless(expression.left) && isPlaceless(expression.right);
    case 'if':
      return isPlaceless(expression.then) && isPlaceless(expression.otherwise);
    case 'try':
      return isPlaceless(expression.body);
    case 'field':
    case 'iterate':
    case 'slice':
      return isPlaceless(expression.from);
    default:
      return placeless.has(expression.kind);
  }
}

/** What of an expression is not evaluated; undefined when all of it is. */
export function opaqueIn(expression: Expression): string | undefined {
  if (expression.kind === 'opaque') return expression.what;
  for (const part of partsOf(expression)) {
    const what = opaqueIn(part);
    if (what !== undefined) return what;
  }
  return undefined;
}

/** What an expression is made of. */
export function partsOf(expression: Expression): readonly Expression[] {
  switch (expression.kind) {
    case 'field':
      return [expression.from, expression.name];
    case 'iterate':
      return [expression.from];
    case 'slice':
      return [expression.from, expression.low, expression.high].filter((part) => part !== undefined);
    case 'if':
      return [expression.condition, expression.then, expression.otherwise];
    case 'try':
    case 'list':
      return [expression.body];
    case 'call':
      return expression.args;
    case 'pipe':
    case 'comma':
    case 'and':
    case 'or':
    case 'alternative':
    case 'compare':
      return [expression.left, expression.right];
    default:
      return [];
  }
}
