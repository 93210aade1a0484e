import { isObject, ownMember } from '#base';
import type { Json } from '#base';

type JsonPathStep =
  | { readonly kind: 'key'; readonly key: string }
  | { readonly kind: 'index'; readonly index: number }
  | { readonly kind: 'all' }
  | { readonly kind: 'where'; readonly path: readonly JsonPathStep[]; readonly operator: string; readonly value: Json };

const compiledPaths = new Map<string, readonly JsonPathStep[]>();

/**
 * The values at a JSONPath in the syntax of printer columns: `.a.b`, `.a['b.c']`, `.a\.b`, `[0]`,
 * `[-1]`, `[*]`, `[?(@.type=="Ready")]`. An invalid path selects nothing.
 */
export function jsonPath(value: Json | undefined, path: string): readonly Json[] {
  const steps = compiledPaths.get(path) ?? compilePath(path);
  compiledPaths.set(path, steps);
  return walkPath(value === undefined ? [] : [value], steps);
}

const stepToken =
  /\.?\[\?\(@(?<path>[^=!<>]*?)\s*(?<operator>==|!=|<=|>=|<|>)\s*(?<value>"[^"]*"|'[^']*'|[^)]*)\)\]|\.?\[\*\]|\.\*|\.?\[(?<index>-?[0-9]+)\]|\.?\[(?<quoted>'[^']*'|"[^"]*")\]|\.(?<key>(?:\\.|[^.[\\])+)/y;

function compilePath(path: string): readonly JsonPathStep[] {
  const plain = path.replace(/^\{|\}$/g, '').replace(/^\$/, '');
  const text = plain.startsWith('.') || plain.startsWith('[') ? plain : `.${plain}`;
  const steps: JsonPathStep[] = [];
  stepToken.lastIndex = 0;
  while (stepToken.lastIndex < text.length) {
    const found = stepToken.exec(text);
    if (found === null) return [{ kind: 'key', key: '\u0000unreadable' }];
    const resume = stepToken.lastIndex;
    steps.push(stepOf(found));
    stepToken.lastIndex = resume;
  }
  return steps;
}

function stepOf(found: RegExpExecArray): JsonPathStep {
  const { path, operator, value, index, quoted, key } = found.groups ?? {};
  if (operator !== undefined)
    return { kind: 'where', path: compilePath(path ?? ''), operator, value: literalValue(value ?? '') };
  if (index !== undefined) return { kind: 'index', index: Number(index) };
  if (quoted !== undefined) return { kind: 'key', key: quoted.slice(1, -1) };
  return key === undefined ? { kind: 'all' } : { kind: 'key', key: key.replace(/\\(.)/g, '$1') };
}

function literalValue(text: string): Json {
  if (/^["']/.test(text)) return text.slice(1, -1);
  if (text === 'true' || text === 'false') return text === 'true';
  return Number.isNaN(Number(text)) ? text : Number(text);
}

function walkPath(values: readonly Json[], steps: readonly JsonPathStep[]): readonly Json[] {
  let here = values;
  for (const step of steps) here = here.flatMap((value) => takeStep(value, step));
  return here;
}

function takeStep(value: Json, step: JsonPathStep): readonly Json[] {
  switch (step.kind) {
    case 'key': {
      const member = isObject(value) ? ownMember(value, step.key) : undefined;
      return member === undefined ? [] : [member];
    }
    case 'index': {
      const member = Array.isArray(value) ? (value as readonly Json[]).at(step.index) : undefined;
      return member === undefined ? [] : [member];
    }
    case 'all':
      return memberValues(value);
    case 'where':
      return memberValues(value).filter((member) =>
        walkPath([member], step.path).some((found) => comparisonHolds(found, step)),
      );
  }
}

function memberValues(value: Json): readonly Json[] {
  if (Array.isArray(value)) return value as readonly Json[];
  return isObject(value) ? Object.values(value).filter((member): member is Json => member !== undefined) : [];
}

function comparisonHolds(
  found: Json,
  { operator, value }: { readonly operator: string; readonly value: Json },
): boolean {
  switch (operator) {
    case '==':
      return found === value;
    case '!=':
      return found !== value;
    default: {
      const [left, right] = [Number(found), Number(value)];
      if (operator === '<') return left < right;
      if (operator === '>') return left > right;
      return operator === '<=' ? left <= right : left >= right;
    }
  }
}
