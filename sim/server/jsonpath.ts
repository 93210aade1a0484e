import { isObject, own } from '#base';
import type { Json } from '#base';

type Step =
  | { readonly kind: 'key'; readonly key: string }
  | { readonly kind: 'index'; readonly index: number }
  | { readonly kind: 'all' }
  | { readonly kind: 'where'; readonly path: readonly Step[]; readonly operator: string; readonly value: Json };

const compiled = new Map<string, readonly Step[]>();

/**
 * The values at a JSONPath as printer columns use it: `.a.b`, `.a['b.c']`, `.a\.b`, `[0]`, `[-1]`, `[*]`, `[?(@.type=="Ready")]`.
 * What cannot be read selects nothing.
 */
export function jsonPath(value: Json | undefined, path: string): readonly Json[] {
  const steps = compiled.get(path) ?? compile(path);
  compiled.set(path, steps);
  return walk(value === undefined ? [] : [value], steps);
}

const token =
  /\.?\[\?\(@(?<path>[^=!<>]*?)\s*(?<operator>==|!=|<=|>=|<|>)\s*(?<value>"[^"]*"|'[^']*'|[^)]*)\)\]|\.?\[\*\]|\.\*|\.?\[(?<index>-?[0-9]+)\]|\.?\[(?<quoted>'[^']*'|"[^"]*")\]|\.(?<key>(?:\\.|[^.[\\])+)/y;

function compile(path: string): readonly Step[] {
  const plain = path.replace(/^\{|\}$/g, '').replace(/^\$/, '');
  const text = plain.startsWith('.') || plain.startsWith('[') ? plain : `.${plain}`;
  const steps: Step[] = [];
  token.lastIndex = 0;
  while (token.lastIndex < text.length) {
    const found = token.exec(text);
    if (found === null) return [{ kind: 'key', key: '\u0000unreadable' }];
    const resume = token.lastIndex;
    steps.push(stepOf(found));
    token.lastIndex = resume;
  }
  return steps;
}

function stepOf(found: RegExpExecArray): Step {
  const { path, operator, value, index, quoted, key } = found.groups ?? {};
  if (operator !== undefined)
    return { kind: 'where', path: compile(path ?? ''), operator, value: literal(value ?? '') };
  if (index !== undefined) return { kind: 'index', index: Number(index) };
  if (quoted !== undefined) return { kind: 'key', key: quoted.slice(1, -1) };
  return key === undefined ? { kind: 'all' } : { kind: 'key', key: key.replace(/\\(.)/g, '$1') };
}

function literal(text: string): Json {
  if (/^["']/.test(text)) return text.slice(1, -1);
  if (text === 'true' || text === 'false') return text === 'true';
  return Number.isNaN(Number(text)) ? text : Number(text);
}

function walk(values: readonly Json[], steps: readonly Step[]): readonly Json[] {
  let here = values;
  for (const step of steps) here = here.flatMap((value) => take(value, step));
  return here;
}

function take(value: Json, step: Step): readonly Json[] {
  switch (step.kind) {
    case 'key': {
      const member = isObject(value) ? own(value, step.key) : undefined;
      return member === undefined ? [] : [member];
    }
    case 'index': {
      const member = Array.isArray(value) ? (value as readonly Json[]).at(step.index) : undefined;
      return member === undefined ? [] : [member];
    }
    case 'all':
      return members(value);
    case 'where':
      return members(value).filter((member) => walk([member], step.path).some((found) => holds(found, step)));
  }
}

function members(value: Json): readonly Json[] {
  if (Array.isArray(value)) return value as readonly Json[];
  return isObject(value) ? Object.values(value).filter((member): member is Json => member !== undefined) : [];
}

function holds(found: Json, { operator, value }: { readonly operator: string; readonly value: Json }): boolean {
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
