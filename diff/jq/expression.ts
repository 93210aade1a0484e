/** The syntax tree of the part of jq that selects paths. */
export type JqExpression =
  | { readonly kind: 'identity' | 'recurse' | 'empty' }
  | { readonly kind: 'field'; readonly from: JqExpression; readonly name: JqExpression }
  | { readonly kind: 'iterate'; readonly from: JqExpression }
  | { readonly kind: 'try'; readonly body: JqExpression }
  | { readonly kind: 'literal'; readonly value: null | boolean | number | string }
  | { readonly kind: 'list'; readonly body: JqExpression }
  | {
      readonly kind: 'pipe' | 'comma' | 'and' | 'or' | 'alternative';
      readonly left: JqExpression;
      readonly right: JqExpression;
    }
  | {
      readonly kind: 'compare';
      readonly operator: JqComparison;
      readonly left: JqExpression;
      readonly right: JqExpression;
    }
  | { readonly kind: 'call'; readonly name: string; readonly args: readonly JqExpression[] }
  | {
      readonly kind: 'if';
      readonly condition: JqExpression;
      readonly then: JqExpression;
      readonly otherwise: JqExpression;
    }
  | {
      readonly kind: 'slice';
      readonly from: JqExpression;
      readonly low: JqExpression | undefined;
      readonly high: JqExpression | undefined;
    }
  /** Parsed but not evaluated. `yieldsPaths`: its results may be paths of the input. */
  | { readonly kind: 'opaque'; readonly what: string; readonly yieldsPaths: boolean };

export type JqComparison = '==' | '!=' | '<' | '<=' | '>' | '>=';

const pathFunctions = new Set(['select', 'first', 'last', 'getpath']);

const valueExpressions = new Set(['literal', 'list', 'and', 'or', 'compare']);

/** Whether none of the results can be a path of the input. */
export function yieldsNoPath(expression: JqExpression): boolean {
  switch (expression.kind) {
    case 'opaque':
      return !expression.yieldsPaths;
    case 'call':
      return !pathFunctions.has(expression.name);
    case 'pipe':
      return yieldsNoPath(expression.left) || yieldsNoPath(expression.right);
    case 'comma':
    case 'alternative':
      return yieldsNoPath(expression.left) && yieldsNoPath(expression.right);
    case 'if':
      return yieldsNoPath(expression.then) && yieldsNoPath(expression.otherwise);
    case 'try':
      return yieldsNoPath(expression.body);
    case 'field':
    case 'iterate':
    case 'slice':
      return yieldsNoPath(expression.from);
    default:
      return valueExpressions.has(expression.kind);
  }
}

/** The first part that is not evaluated; undefined when all are. */
export function unsupportedPart(expression: JqExpression): string | undefined {
  if (expression.kind === 'opaque') return expression.what;
  for (const part of subexpressions(expression)) {
    const what = unsupportedPart(part);
    if (what !== undefined) return what;
  }
  return undefined;
}

/** The direct subexpressions. */
export function subexpressions(expression: JqExpression): readonly JqExpression[] {
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
