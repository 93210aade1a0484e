import { compileLinearPattern } from '#base';
import type { LinearPattern, PatternMatch } from '#base';
import { TemplateError } from '../template-error.ts';
import { fn } from '../template-function.ts';
import type { FunctionCall, FunctionTable } from '../template-function.ts';
import { GoList } from '../template-values.ts';

const find = fn('string,string', (call) => matchesOf(call, call.text(1)).next().value?.text ?? '');
const findAll = fn('string,string,int', (call) => {
  const found = limited(matchesOf(call, call.text(1)), call.int(2)).map(({ text }) => text);
  return new GoList(found, 'string', found.length === 0);
});
const replaceAll = fn('string,string,string', (call) => replaced(call, (match) => expanded(call.text(2), match)));
const replaceLiteral = fn('string,string,string', (call) => replaced(call, () => call.text(2)));
const split = fn('string,string,int', (call) => splitBy(call));
const match = fn('string,string', (call) => !matchesOf(call, call.text(1)).next().done);

/** Regular expressions, by RE2 as in Go. */
export const patternFunctions: FunctionTable = {
  regexMatch: fn('string,string', (call) => {
    // Sprig reports no error for a malformed pattern here.
    if (!compileLinearPattern(call.text(0)).ok) return isMalformed(call.text(0)) ? false : match.run(call);
    return match.run(call);
  }),
  mustRegexMatch: match,
  regexFind: find,
  mustRegexFind: find,
  regexFindAll: findAll,
  mustRegexFindAll: findAll,
  regexReplaceAll: replaceAll,
  mustRegexReplaceAll: replaceAll,
  regexReplaceAllLiteral: replaceLiteral,
  mustRegexReplaceAllLiteral: replaceLiteral,
  regexSplit: split,
  mustRegexSplit: split,
  regexQuoteMeta: fn('string', (call) => call.text(0).replace(/[\\.+*?()|[\]{}^$]/g, '\\$&')),
};

type ValidPattern = Extract<LinearPattern, { readonly ok: true }>;

function isMalformed(source: string): boolean {
  const pattern = compileLinearPattern(source);
  return !pattern.ok && pattern.reason === 'malformed';
}

function patternOf(source: string): ValidPattern {
  const pattern = compileLinearPattern(source);
  if (!pattern.ok) throw new TemplateError(`error parsing regexp: ${pattern.message}`);
  return pattern;
}

/** The matches of the first argument in a text; each search counts for the template's limit. */
function* matchesOf(call: FunctionCall, text: string): Generator<PatternMatch, undefined> {
  const pattern = patternOf(call.text(0));
  const { budget } = call;
  budget.search(pattern.size * text.length);
  for (const found of pattern.matches(text)) {
    yield found;
    budget.search(pattern.size * (text.length - found.end));
  }
  return undefined;
}

function limited(matches: Iterable<PatternMatch>, count: number): readonly PatternMatch[] {
  const found: PatternMatch[] = [];
  if (count === 0) return found;
  for (const one of matches) {
    found.push(one);
    if (found.length === count) break;
  }
  return found;
}

function replaced(call: FunctionCall, replacement: (match: PatternMatch) => string): string {
  const text = call.text(1);
  const parts: string[] = [];
  let [at, length] = [0, 0];
  for (const found of matchesOf(call, text)) {
    const part = text.slice(at, found.start) + replacement(found);
    length += part.length;
    call.budget.expectText(length);
    parts.push(part);
    at = found.end;
  }
  return parts.join('') + text.slice(at);
}

/** Go's expansion: `$1`, `$name`, `${name}`, and `$$` for a dollar. */
function expanded(template: string, { groups, names }: PatternMatch): string {
  return template.replace(
    /\$(?:\$|\{([\p{L}\p{Nd}_]+)\}|([\p{L}\p{Nd}_]+))/gu,
    (_whole, braced?: string, bare?: string) => {
      const name = braced ?? bare;
      if (name === undefined) return '$';
      const index = /^\d+$/.test(name) ? Number(name) : names[name];
      return (index === undefined ? undefined : groups[index]) ?? '';
    },
  );
}

function splitBy(call: FunctionCall): GoList {
  const [source, text, count] = [call.text(0), call.text(1), call.int(2)];
  if (count === 0) return new GoList([], 'string', true);
  if (source !== '' && text === '') return new GoList([''], 'string');
  const parts: string[] = [];
  let [at, lastStart] = [0, 0];
  for (const { start, end } of matchesOf(call, text)) {
    if (count > 0 && parts.length === count - 1) break;
    lastStart = start;
    // An empty match at the beginning splits nothing off.
    if (end !== 0) parts.push(text.slice(at, start));
    at = end;
  }
  if (lastStart !== text.length) parts.push(text.slice(at));
  call.budget.expectItems(parts.length);
  return new GoList(parts, 'string');
}
