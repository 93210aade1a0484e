import type { HealthStatus, HealthStatusCode } from '#model';
import { fillPlaceholders } from './message.ts';
import type { StatusCondition, ObjectView } from './view.ts';
import { conditionsOf, pathParts, scalarNumber } from './view.ts';

/** The value that a field is compared with: type and value must be equal, as in Lua. */
export type Scalar = string | number | boolean;

/**
 * Which conditions a rule means. Each part is `''` (any), `A|B` (one of these) or `!A|B` (none of
 * these).
 */
export interface ConditionMatch {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
}

/**
 * The test of a rule, as plain data. {@link testHolds} evaluates it; describe.ts writes it out for
 * docs/health.md.
 */
export type RuleTest =
  | { readonly on: 'condition'; readonly match: ConditionMatch }
  | { readonly on: 'field'; readonly path: string; readonly values: readonly Scalar[] }
  | { readonly on: 'pattern'; readonly path: string; readonly pattern: RegExp }
  | { readonly on: 'present' | 'truthy' | 'empty'; readonly path: string }
  | { readonly on: 'same'; readonly path: string; readonly as: string }
  | { readonly on: 'above'; readonly path: string; readonly than: number }
  | { readonly on: 'stale'; readonly path: string; readonly absent: boolean }
  | { readonly on: 'all' | 'any'; readonly of: readonly RuleTest[] }
  | { readonly on: 'not'; readonly of: RuleTest };

/** This status when the test holds. The message may hold placeholders (message.ts). */
export type TestRule = readonly [status: HealthStatusCode, test: RuleTest, message?: string];

/**
 * Walks a list of conditions in its order. The first condition that a line matches decides, by its
 * first such line.
 */
export interface WalkRule {
  readonly walk: string;
  /** Walks from the end: the last condition that a line matches decides. */
  readonly backwards?: boolean;
  readonly lines: readonly (readonly [status: HealthStatusCode, match: ConditionMatch, message?: string])[];
}

/**
 * For rules that data cannot express. The code returns undefined to fall through to the next rule.
 * `description` is its line in docs/health.md.
 */
export interface CodeRule {
  readonly description: string;
  readonly evaluate: (view: ObjectView) => HealthStatus | undefined;
}

export type HealthRule = TestRule | WalkRule | CodeRule;

/** The check of one or more kinds: the first rule that holds decides, otherwise the last line. */
export interface HealthCheck {
  /** `group/Kind`; a group may begin with `*.`, a kind may be `*`. */
  readonly kinds: readonly string[];
  readonly rules: readonly HealthRule[];
  readonly otherwise: readonly [status: HealthStatusCode, message?: string];
}

export const on = (type: string, status = 'True', reason = ''): ConditionMatch => ({ type, status, reason });
export const condition = (type: string, status = 'True', reason = ''): RuleTest => ({
  on: 'condition',
  match: on(type, status, reason),
});
export const walk = (lines: WalkRule['lines'], path = 'status.conditions'): WalkRule => ({ walk: path, lines });
export const walkBack = (lines: WalkRule['lines']): WalkRule => ({ ...walk(lines), backwards: true });
export const field = (path: string, ...values: Scalar[]): RuleTest => ({ on: 'field', path, values });
export const pattern = (path: string, regex: RegExp): RuleTest => ({ on: 'pattern', path, pattern: regex });
export const present = (path: string): RuleTest => ({ on: 'present', path });
export const absent = (path: string): RuleTest => not(present(path));
/** Set, and not false. */
export const truthy = (path: string): RuleTest => ({ on: 'truthy', path });
export const empty = (path: string): RuleTest => ({ on: 'empty', path });
/** Both fields have the same value, or neither is set. */
export const same = (path: string, as: string): RuleTest => ({ on: 'same', path, as });
export const above = (path: string, than: number): RuleTest => ({ on: 'above', path, than });
/**
 * The controller has not observed this generation yet. A status without an observed generation is
 * not stale.
 */
export const stale = (path = 'status.observedGeneration'): RuleTest => ({ on: 'stale', path, absent: false });
/** Like {@link stale}, but a status without an observed generation counts as stale too. */
export const unobserved = (path = 'status.observedGeneration'): RuleTest => ({ on: 'stale', path, absent: true });
export const all = (...of: RuleTest[]): RuleTest => ({ on: 'all', of });
export const any = (...of: RuleTest[]): RuleTest => ({ on: 'any', of });
export const not = (of: RuleTest): RuleTest => ({ on: 'not', of });

export function check(
  kinds: string | readonly string[],
  rules: readonly HealthRule[],
  otherwise: HealthCheck['otherwise'] = ['Progressing'],
): HealthCheck {
  return { kinds: typeof kinds === 'string' ? [kinds] : kinds, rules, otherwise };
}

/** Keys of several kinds in one group. */
export function kindsOf(group: string, ...kinds: string[]): readonly string[] {
  return kinds.map((kind) => `${group}/${kind}`);
}

/** One rule for each value of a field. */
export function states(
  path: string,
  table: Readonly<Record<string, readonly [status: HealthStatusCode, message?: string]>>,
): readonly TestRule[] {
  return Object.entries(table).map(([value, [status, message = '']]) => [
    status,
    field(path, ...value.split('|')),
    message,
  ]);
}

const scriptError = (line: number, text: string): string => `<string>:${line}: ${text}`;
/**
 * Argo CD's check of the kind stops with an error when the test holds. Its users see Unknown with
 * this text, so ours do too; `key` is the field that could not be read.
 */
export const unreadable = (test: RuleTest, line: number, key: string): TestRule => [
  'Unknown',
  test,
  scriptError(line, `attempt to index a non-table object(nil) with key '${key}'`),
];
/** Like {@link unreadable}, for a list that is absent. */
export const unlisted = (test: RuleTest, line: number): TestRule => [
  'Unknown',
  test,
  scriptError(line, 'bad argument #1 to ipairs (table expected, got nil)'),
];
/** Like {@link unreadable}, for an absent text at the start of a message. */
export const unworded = (test: RuleTest, line: number): TestRule => [
  'Unknown',
  test,
  scriptError(line, 'cannot perform concat operation between nil and string'),
];

/** Ready is False or True: the pattern that most operators follow. Its message is shown. */
export const readyRule: WalkRule = walk([
  ['Degraded', on('Ready', 'False'), '{it.message}'],
  ['Healthy', on('Ready'), '{it.message}'],
]);

/** Evaluates a check on an object. Never throws, whatever the object contains. */
export function evaluateCheck(one: HealthCheck, view: ObjectView): HealthStatus {
  for (const rule of one.rules) {
    const status = evaluateRule(rule, view);
    if (status !== undefined) return status;
  }
  return outcome(one.otherwise[0], fillPlaceholders(one.otherwise[1], view));
}

function evaluateRule(rule: HealthRule, view: ObjectView): HealthStatus | undefined {
  if ('evaluate' in rule) return rule.evaluate(view);
  if ('walk' in rule) return evaluateWalk(rule, view);
  const [status, test, message] = rule;
  if (!testHolds(test, view)) return undefined;
  return outcome(status, fillPlaceholders(message, view, matchedCondition(test, view)));
}

function evaluateWalk(rule: WalkRule, view: ObjectView): HealthStatus | undefined {
  const list = rule.walk === 'status.conditions' ? view.conditions : conditionsOf(view.get(pathParts(rule.walk)));
  for (const item of rule.backwards === true ? list.toReversed() : list) {
    const line = rule.lines.find(([, match]) => matches(match, item));
    if (line !== undefined) return outcome(line[0], fillPlaceholders(line[2], view, item));
  }
  return undefined;
}

export function outcome(status: HealthStatusCode, message = ''): HealthStatus {
  return message === '' ? { status } : { status, message };
}

export function testHolds(test: RuleTest, view: ObjectView): boolean {
  switch (test.on) {
    case 'condition':
      return matchedCondition(test, view) !== undefined;
    case 'field':
      return isOneOf(view.get(pathParts(test.path)), test.values);
    case 'pattern': {
      const value = view.get(pathParts(test.path));
      return typeof value === 'string' && test.pattern.test(value);
    }
    case 'present':
      return view.has(test.path);
    case 'truthy':
      return view.isSet(test.path);
    case 'empty':
      return isEmpty(view.get(pathParts(test.path)));
    case 'same':
      return view.isSame(test.path, test.as);
    case 'above':
      return (view.number(test.path) ?? 0) > test.than;
    case 'stale':
      return view.has(test.path) ? isOfOtherGeneration(view, test.path) : test.absent;
    case 'all':
      return test.of.every((item) => testHolds(item, view));
    case 'any':
      return test.of.some((item) => testHolds(item, view));
    case 'not':
      return !testHolds(test.of, view);
  }
}

function isOfOtherGeneration(view: ObjectView, path: string): boolean {
  return view.has('metadata.generation') && !view.isSame(path, 'metadata.generation');
}

function isOneOf(value: unknown, values: readonly Scalar[]): boolean {
  const found = typeof value === 'bigint' ? scalarNumber(value) : value;
  return values.some((item) => item === found);
}

function isEmpty(value: unknown): boolean {
  if (value === null || value === '') return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

export function matches(match: ConditionMatch, item: StatusCondition): boolean {
  return isAmong(item.type, match.type) && isAmong(item.status, match.status) && isAmong(item.reason, match.reason);
}

const splitChoices = new Map<string, ReadonlySet<string>>();

/** `''` is any, `A|B` one of these, `!A|B` none of these. */
function isAmong(value: string, choice: string): boolean {
  if (choice === '' || value === choice) return true;
  if (!choice.includes('|') && !choice.startsWith('!')) return false;
  let set = splitChoices.get(choice);
  if (set === undefined) {
    set = new Set(choice.replace('!', '').split('|'));
    splitChoices.set(choice, set);
  }
  return set.has(value) !== choice.startsWith('!');
}

/** The condition whose fields a message shows: the first that the test matches. */
function matchedCondition(test: RuleTest, view: ObjectView): StatusCondition | undefined {
  if (test.on === 'condition') return view.conditions.find((item) => matches(test.match, item));
  if (test.on !== 'all') return undefined;
  const inner = test.of.find((item) => item.on === 'condition');
  return inner === undefined ? undefined : matchedCondition(inner, view);
}
