import type { HealthStatus, HealthStatusCode } from '#model';
import type { StatusCondition, ObjectView } from './view.ts';
import { pathParts, scalarText } from './view.ts';

/**
 * The condition of a rule, as plain data. {@link testHolds} evaluates it; {@link describeTest}
 * writes it out for docs/health.md.
 */
export type RuleTest =
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
  | { readonly on: 'all' | 'any'; readonly of: readonly RuleTest[] }
  | { readonly on: 'not'; readonly of: RuleTest };

/**
 * One line of a check: this status when the test holds. The message may contain placeholders:
 * `{status.phase}` is a field, `{@Ready.message}` a field of a condition, `{kind}` the kind, and
 * `{some.message}` a field of the condition that `some condition` matched.
 */
export type HealthRule = readonly [status: HealthStatusCode, test: RuleTest, message?: string] | CodeRule;

/**
 * For rules that data cannot express. The code returns undefined to fall through to the next rule.
 * `description` is its line in docs/health.md.
 */
export interface CodeRule {
  readonly description: string;
  readonly evaluate: (view: ObjectView) => HealthStatus | undefined;
}

/** The check of one or more kinds: the first rule that holds decides, otherwise the last line. */
export interface HealthCheck {
  /** `group/Kind`; a group may begin with `*.`, a kind may be `*`. */
  readonly kinds: readonly string[];
  readonly rules: readonly HealthRule[];
  readonly otherwise: readonly [status: HealthStatusCode, message?: string];
}

export const condition = (
  type: string,
  status: string | readonly string[] = 'True',
  ...reasons: string[]
): RuleTest => ({
  on: 'condition',
  type,
  status: typeof status === 'string' ? [status] : status,
  reasons,
});
export const someCondition = (status: string, severity = '', ...but: string[]): RuleTest => ({
  on: 'some condition',
  status,
  severity,
  but,
});
export const everyCondition = (status: string, ...but: string[]): RuleTest => ({ on: 'every condition', status, but });
export const field = (path: string, ...values: string[]): RuleTest => ({ on: 'field', path, values });
export const pattern = (path: string, regex: RegExp): RuleTest => ({ on: 'pattern', path, pattern: regex });
export const present = (path: string): RuleTest => ({ on: 'present', path });
export const empty = (path: string): RuleTest => ({ on: 'empty', path });
export const less = (path: string, than: string): RuleTest => ({ on: 'less', path, than });
/**
 * The controller has not observed this generation yet. A status without an observed generation is
 * not stale.
 */
export const stale = (path = 'status.observedGeneration'): RuleTest => ({ on: 'stale', path, absent: false });
/** Like {@link stale}, but a status without an observed generation counts as stale too. */
export const unobserved = (path = 'status.observedGeneration'): RuleTest => ({ on: 'stale', path, absent: true });
export const staleCondition = (type: string): RuleTest => ({ on: 'stale condition', type });
export const annotation = (name: string, ...values: string[]): RuleTest => ({ on: 'annotation', name, values });
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

/** Evaluates a check on an object. Never throws, whatever the object contains. */
export function evaluateCheck(one: HealthCheck, view: ObjectView): HealthStatus {
  for (const rule of one.rules) {
    if ('evaluate' in rule) {
      const status = rule.evaluate(view);
      if (status !== undefined) return status;
    } else if (testHolds(rule[1], view)) return outcome(rule[0], fillPlaceholders(rule[2], view, rule[1]));
  }
  return outcome(one.otherwise[0], fillPlaceholders(one.otherwise[1], view));
}

export function outcome(status: HealthStatusCode, message = ''): HealthStatus {
  return message === '' ? { status } : { status, message };
}

// eslint-disable-next-line complexity -- one line per kind of test: splitting would hide it
export function testHolds(test: RuleTest, view: ObjectView): boolean {
  switch (test.on) {
    case 'condition':
      return view.conditions.some((item) => matchesCondition(test, item));
    case 'some condition':
      return findCondition(test, view) !== undefined;
    case 'every condition':
      return (
        view.conditions.length > 0 &&
        view.conditions.every((item) => item.status === test.status || test.but.includes(item.type))
      );
    case 'field':
      return test.values.includes(scalarText(view.get(pathParts(test.path))));
    case 'pattern':
      return test.pattern.test(scalarText(view.get(pathParts(test.path))));
    case 'present':
      return view.get(pathParts(test.path)) !== null;
    case 'empty':
      return isEmpty(view.get(pathParts(test.path)));
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
      return test.of.every((item) => testHolds(item, view));
    case 'any':
      return test.of.some((item) => testHolds(item, view));
    case 'not':
      return !testHolds(test.of, view);
  }
}

function isEmpty(value: unknown): boolean {
  if (value === null || value === '') return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

function matchesCondition(test: Extract<RuleTest, { on: 'condition' }>, item: StatusCondition): boolean {
  if (item.type !== test.type || !test.status.includes(item.status)) return false;
  return test.reasons.length === 0 || test.reasons.includes(item.reason);
}

function findCondition(
  test: Extract<RuleTest, { on: 'some condition' }>,
  view: ObjectView,
): StatusCondition | undefined {
  return view.conditions.find(
    (item) =>
      item.status === test.status &&
      !test.but.includes(item.type) &&
      (test.severity === '' || item.severity === test.severity),
  );
}

const placeholderPattern = /\{(@?)([^{}]+)\}/g;

/** Fills in the placeholders of a message. */
export function fillPlaceholders(message: string | undefined, view: ObjectView, test?: RuleTest): string {
  if (!message?.includes('{')) return message ?? '';
  return message.replace(placeholderPattern, (_all, mark: string, path: string) => {
    if (path === 'kind') return view.kind;
    if (mark === '@') {
      const dot = path.lastIndexOf('.');
      return conditionField(view.condition(path.slice(0, dot)), path.slice(dot + 1));
    }
    if (path.startsWith('some.')) return conditionField(matchedCondition(test, view), path.slice('some.'.length));
    return scalarText(view.get(pathParts(path)));
  });
}

function matchedCondition(test: RuleTest | undefined, view: ObjectView): StatusCondition | undefined {
  return test?.on === 'some condition' ? findCondition(test, view) : undefined;
}

function conditionField(item: StatusCondition | undefined, name: string): string {
  switch (name) {
    case 'message':
      return item?.message ?? '';
    case 'reason':
      return item?.reason ?? '';
    default:
      return item?.status ?? '';
  }
}

/**
 * A test in words, for docs/health.md.
 */
// eslint-disable-next-line complexity -- one line per kind of test
export function describeTest(test: RuleTest): string {
  const except = (but: readonly string[]): string => (but.length === 0 ? '' : ` but ${but.join(', ')}`);
  switch (test.on) {
    case 'condition':
      return `${test.type} is ${test.status.join(' or ')}${test.reasons.length === 0 ? '' : ` (${test.reasons.join(', ')})`}`;
    case 'some condition':
      return `a condition${except(test.but)} is ${test.status}${test.severity === '' ? '' : ` with severity ${test.severity}`}`;
    case 'every condition':
      return `every condition${except(test.but)} is ${test.status}`;
    case 'field':
      return `${displayPath(test.path)} is ${test.values.map((value) => (value === '' ? 'empty' : value)).join(' or ')}`;
    case 'pattern':
      return `${displayPath(test.path)} matches \`${test.pattern.source.replaceAll('|', '\\|')}\``;
    case 'present':
      return `${displayPath(test.path)} is set`;
    case 'empty':
      return `no ${displayPath(test.path)}`;
    case 'less':
      return `${displayPath(test.path)} < ${displayPath(test.than)}`;
    case 'stale':
      return 'the generation is not observed';
    case 'stale condition':
      return `${test.type} is from an older generation`;
    case 'annotation':
      return `annotation ${test.name} is ${test.values.join(' or ')}`;
    case 'all':
      return test.of.map(describeTest).join(' and ');
    case 'any':
      return test.of.map(describeTest).join(', or ');
    case 'not':
      return `not (${describeTest(test.of)})`;
  }
}

function displayPath(path: string): string {
  return path.startsWith('status.') ? path.slice('status.'.length) : path;
}
