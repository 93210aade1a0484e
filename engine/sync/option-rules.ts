import { outsideText, UsageError } from '#base';

/** What an option accepts. An option that is undefined is as if it were not there. */
export interface OptionRule {
  /** What is valid, after "must be". */
  readonly valid: string;
  readonly accepts: (value: unknown) => boolean;
  readonly isRequired?: true;
  /** The rules of its members. Others are refused. */
  readonly members?: OptionRules;
  /** What to do instead, if callers expect an option that does not exist. */
  readonly instead?: string;
}

export type OptionRules = Readonly<Record<string, OptionRule>>;

/**
 * Refuses unknown options and invalid values: a misspelt option would change what a sync deletes.
 * @param path names the options in messages: "options.", or "" for the outermost
 * @throws UsageError that names the option, its value and what is valid
 */
export function checkOptions(given: unknown, rules: OptionRules, { what, path = '' }: OptionsName): void {
  if (!isObject(given)) throw new UsageError(`the options of ${what} must be an object: they are ${shownValue(given)}`);
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(rules, name));
  if (unknown !== undefined) throw new UsageError(unknownText(unknown, rules, { what, path }));
  for (const [name, rule] of Object.entries(rules)) checkOption(given[name], rule, path + name);
}

/** How messages name a set of options. */
interface OptionsName {
  readonly what: string;
  readonly path?: string;
}

function checkOption(value: unknown, rule: OptionRule, name: string): void {
  if (value === undefined && rule.isRequired !== true) return;
  if (rule.instead !== undefined) throw new UsageError(`there is no option ${name}: ${rule.instead}`);
  if (!rule.accepts(value)) throw new UsageError(`${name} must be ${rule.valid}: it is ${shownValue(value)}`);
  if (rule.members !== undefined) checkOptions(value, rule.members, { what: name, path: `${name}.` });
}

function unknownText(unknown: string, rules: OptionRules, { what, path = '' }: OptionsName): string {
  const known = Object.keys(rules).filter((name) => rules[name]?.instead === undefined);
  return `there is no option ${path}${outsideText('field', unknown)}: ${what} has ${known.join(', ')}`;
}

function shownValue(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(outsideText('field', value));
  if (typeof value === 'function') return 'a function';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' && value !== null ? 'an object' : String(value);
}

type Members = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether the value is an object with these methods. */
export function hasMethods(value: unknown, names: readonly string[]): value is Members {
  return isObject(value) && names.every((name) => typeof value[name] === 'function');
}

const isBoolean = (value: unknown): boolean => typeof value === 'boolean';
const isFunction = (value: unknown): boolean => typeof value === 'function';
const isText = (value: unknown): boolean => typeof value === 'string';

export const aBoolean: OptionRule = { valid: 'true or false', accepts: isBoolean };
export const aFunction: OptionRule = { valid: 'a function', accepts: isFunction };
export const aText: OptionRule = { valid: 'a string', accepts: isText };
export const aList: OptionRule = { valid: 'a list', accepts: Array.isArray };

/** One of these strings. */
export function oneOf(...values: readonly string[]): OptionRule {
  const valid = values.map((value) => `"${value}"`).join(', ');
  return { valid: `one of ${valid}`, accepts: (value) => isText(value) && values.includes(value as string) };
}

/** A string that matches. */
export function textLike(pattern: RegExp, valid: string): OptionRule {
  return { valid, accepts: (value) => isText(value) && pattern.test(value as string) };
}
