import type { HealthStatus, HealthStatusCode } from '#model';
import type { Condition, View } from './view.ts';
import { split, textOf } from './view.ts';

/** What a rule looks at. Plain data: it is evaluated by {@link holds} and written out for docs/health.md by {@link describe}. */
export type Test =
  | {
      readonly on: 'condition';
      readonly type: string;
      readonly status: readonly string[];
      readonly reasons: readonly string[];
    }
  | {
      readonly on: 'some condition';
      readonly status: string;
      readonly severity: string;
      readonly but: readonly string[];
    }
  | { readonly on: 'every condition'; readonly status: string; readonly but: readonly string[] }
  | { readonly on: 'field'; readonly path: string; readonly values: readonly string[] }
  | { readonly on: 'pattern'; readonly path: string; readonly pattern: RegExp }
  | { readonly on: 'present'; readonly path: string }
  | { readonly on: 'empty'; readonly path: string }
  | { readonly on: 'less'; readonly path: string; readonly than: string }
  | { readonly on: 'stale'; readonly path: string; readonly absent: boolean }
  | { readonly on: 'stale condition'; readonly type: string }
  | { readonly on: 'annotation'; readonly name: string; readonly values: readonly string[] }
  | { readonly on: 'all' | 'any'; readonly of: readonly Test[] }
  | { readonly on: 'not'; readonly of: Test };

/**
 * One line of a check: this status when the test holds. The message is a text with places in braces: `{status.phase}` a field,
 * `{@Ready.message}` a field of a condition, `{kind}` the kind, `{some.message}` of the condition that 'some condition' found.
 */
export type Rule = readonly [status: HealthStatusCode, test: Test, message?: string] | CodeRule;

/** Where data cannot say it: code that answers, or leaves it to the rules below. `says` is its line in docs/health.md. */
export interface CodeRule {
  readonly says: string;
  readonly judge: (view: View) => HealthStatus | undefined;
}

/** The check of one or more kinds: the first rule that holds decides, else the last line. */
export interface Check {
  /** `group/Kind`; a group may begin with `*.`, a kind may be `*`. */
  readonly kinds: readonly string[];
  readonly rules: readonly Rule[];
  readonly otherwise: readonly [status: HealthStatusCode, message?: string];
}

export const condition = (type: string, status: string | readonly string[] = 'True', ...reasons: string[]): Test => ({
  on: 'condition',
  type,
  status: typeof status === 'string' ? [status] : status,
  reasons,
});
export const someCondition = (status: string, severity = '', ...but: string[]): Test => ({
  on: 'some condition',
  status,
  severity,
  but,
});
export const everyCondition = (status: string, ...but: string[]): Test => ({ on: 'every condition', status, but });
export const field = (path: string, ...values: string[]): Test => ({ on: 'field', path, values });
export const pattern = (path: string, regex: RegExp): Test => ({ on: 'pattern', path, pattern: regex });
export const present = (path: string): Test => ({ on: 'present', path });
export const empty = (path: string): Test => ({ on: 'empty', path });
export const less = (path: string, than: string): Test => ({ on: 'less', path, than });
/** The controller has not seen this generation yet; a status that does not say what it has seen is not stale. */
export const stale = (path = 'status.observedGeneration'): Test => ({ on: 'stale', path, absent: false });
/** As {@link stale}, and a status that does not say what it has seen counts as stale too. */
export const unobserved = (path = 'status.observedGeneration'): Test => ({ on: 'stale', path, absent: true });
export const staleCondition = (type: string): Test => ({ on: 'stale condition', type });
export const annotation = (name: string, ...values: string[]): Test => ({ on: 'annotation', name, values });
export const all = (...of: Test[]): Test => ({ on: 'all', of });
export const any = (...of: Test[]): Test => ({ on: 'any', of });
export const not = (of: Test): Test => ({ on: 'not', of });

export function check(
  kinds: string | readonly string[],
  rules: readonly Rule[],
  otherwise: Check['otherwise'] = ['Progressing'],
): Check {
  return { kinds: typeof kinds === 'string' ? [kinds] : kinds, rules, otherwise };
}

/** Kinds of one group. */
export function kindsOf(group: string, ...kinds: string[]): readonly string[] {
  return kinds.map((kind) => `${group}/${kind}`);
}

/** What a check says of an object. Never throws for any object. */
export function judge(one: Check, view: View): HealthStatus {
  for (const rule of one.rules) {
    if ('judge' in rule) {
      const found = rule.judge(view);
      if (found !== undefined) return found;
    } else if (holds(rule[1], view)) return outcome(rule[0], fill(rule[2], view, rule[1]));
  }
  return outcome(one.otherwise[0], fill(one.otherwise[1], view));
}

export function outcome(status: HealthStatusCode, message = ''): HealthStatus {
  return message === '' ? { status } : { status, message };
}

// eslint-disable-next-line complexity -- one line per kind of test: splitting the switch would only hide it
export function holds(test: Test, view: View): boolean {
  switch (test.on) {
    case 'condition':
      return view.conditions.some((item) => matches(test, item));
    case 'some condition':
      return some(test, view) !== undefined;
    case 'every condition':
      return (
        view.conditions.length > 0 &&
        view.conditions.every((item) => item.status === test.status || test.but.includes(item.type))
      );
    case 'field':
      return test.values.includes(textOf(view.get(split(test.path))));
    case 'pattern':
      return test.pattern.test(textOf(view.get(split(test.path))));
    case 'present':
      return view.get(split(test.path)) !== null;
    case 'empty':
      return isEmpty(view.get(split(test.path)));
    case 'less':
      return (
        (view.number(test.path) ?? 0) < (/^\d+$/.test(test.than) ? Number(test.than) : (view.number(test.than) ?? 0))
      );
    case 'stale': {
      const seen = view.number(test.path);
      return seen === undefined ? test.absent : (view.generation ?? 0) > seen;
    }
    case 'stale condition': {
      const seen = view.condition(test.type)?.observedGeneration;
      return seen !== undefined && (view.generation ?? 0) > seen;
    }
    case 'annotation':
      return test.values.includes(view.annotation(test.name));
    case 'all':
      return test.of.every((item) => holds(item, view));
    case 'any':
      return test.of.some((item) => holds(item, view));
    case 'not':
      return !holds(test.of, view);
  }
}

function isEmpty(value: unknown): boolean {
  if (value === null || value === '') return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

function matches(test: Extract<Test, { on: 'condition' }>, item: Condition): boolean {
  if (item.type !== test.type || !test.status.includes(item.status)) return false;
  return test.reasons.length === 0 || test.reasons.includes(item.reason);
}

function some(test: Extract<Test, { on: 'some condition' }>, view: View): Condition | undefined {
  return view.conditions.find(
    (item) =>
      item.status === test.status &&
      !test.but.includes(item.type) &&
      (test.severity === '' || item.severity === test.severity),
  );
}

const places = /\{(@?)([^{}]+)\}/g;

/** A message with its places filled in. */
export function fill(message: string | undefined, view: View, test?: Test): string {
  if (!message?.includes('{')) return message ?? '';
  return message.replace(places, (_all, mark: string, path: string) => {
    if (path === 'kind') return view.kind;
    if (mark === '@') {
      const dot = path.lastIndexOf('.');
      return part(view.condition(path.slice(0, dot)), path.slice(dot + 1));
    }
    if (path.startsWith('some.')) return part(found(test, view), path.slice('some.'.length));
    return textOf(view.get(split(path)));
  });
}

function found(test: Test | undefined, view: View): Condition | undefined {
  return test?.on === 'some condition' ? some(test, view) : undefined;
}

function part(item: Condition | undefined, name: string): string {
  switch (name) {
    case 'message':
      return item?.message ?? '';
    case 'reason':
      return item?.reason ?? '';
    default:
      return item?.status ?? '';
  }
}

/** A test in words, for docs/health.md. */
// eslint-disable-next-line complexity -- one line per kind of test
export function describe(test: Test): string {
  const except = (but: readonly string[]): string => (but.length === 0 ? '' : ` but ${but.join(', ')}`);
  switch (test.on) {
    case 'condition':
      return `${test.type} is ${test.status.join(' or ')}${test.reasons.length === 0 ? '' : ` (${test.reasons.join(', ')})`}`;
    case 'some condition':
      return `a condition${except(test.but)} is ${test.status}${test.severity === '' ? '' : ` with severity ${test.severity}`}`;
    case 'every condition':
      return `every condition${except(test.but)} is ${test.status}`;
    case 'field':
      return `${short(test.path)} is ${test.values.map((value) => (value === '' ? 'empty' : value)).join(' or ')}`;
    case 'pattern':
      return `${short(test.path)} matches \`${test.pattern.source.replaceAll('|', '\\|')}\``;
    case 'present':
      return `${short(test.path)} is there`;
    case 'empty':
      return `no ${short(test.path)}`;
    case 'less':
      return `${short(test.path)} < ${short(test.than)}`;
    case 'stale':
      return 'the generation is not observed';
    case 'stale condition':
      return `${test.type} is of an older generation`;
    case 'annotation':
      return `annotation ${test.name} is ${test.values.join(' or ')}`;
    case 'all':
      return test.of.map(describe).join(' and ');
    case 'any':
      return test.of.map(describe).join(', or ');
    case 'not':
      return `not (${describe(test.of)})`;
  }
}

function short(path: string): string {
  return path.startsWith('status.') ? path.slice('status.'.length) : path;
}
