/** Checks of what callers pass: tables of checks by option name. All throw UsageError. */
import { isObject, UsageError } from '#base';

/** @param name of the option, for the error. @throws UsageError */
export type OptionCheck = (value: unknown, name: string) => void;

type Checks<T> = { readonly [K in keyof T]-?: OptionCheck };

const maxShownText = 60;
const maxTimerMs = 2 ** 31 - 1;

/** @param expected completes "must be" */
export function check(expected: string, isValid: (value: unknown) => boolean): OptionCheck {
  return (value, name) => {
    if (!isValid(value)) throw new UsageError(`${name} must be ${expected}, not ${shown(value)}`);
  };
}

export const mustBeText = check('a text', (value) => typeof value === 'string');
export const mustBeNonEmptyText = check(
  'a text that is not empty',
  (value) => typeof value === 'string' && value !== '',
);
export const mustBeBoolean = check('true or false', (value) => typeof value === 'boolean');
export const mustBeFunction = check('a function', (value) => typeof value === 'function');
export const mustBeObject = check('an object', isObject);
export const mustBeMap = check('a Map', hasMethods(['get', 'has', 'entries']));
export const mustBeSignal = check('an AbortSignal', hasMethods(['addEventListener', 'throwIfAborted']));

/** A time for a timer. */
export const mustBeMilliseconds = mustBeNumberIn(0, maxTimerMs);
/** A time that may not be over at once. */
export const mustBeLimitMs = mustBeNumberIn(1, maxTimerMs);

export function mustBeNumberIn(min: number, max: number): OptionCheck {
  const isValid = (value: unknown): boolean => typeof value === 'number' && value >= min && value <= max;
  return check(`a number${rangeText(min, max)}`, isValid);
}

export function mustBeWholeIn(min: number, max: number): OptionCheck {
  const isValid = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= min;
  return check(`a whole number${rangeText(min, max)}`, (value) => isValid(value) && Number(value) <= max);
}

export function mustBeOneOf(values: readonly string[]): OptionCheck {
  return check(`one of ${values.join(', ')}`, (value) => typeof value === 'string' && values.includes(value));
}

export function mustBeListOf(item: OptionCheck): OptionCheck {
  return (value, name) => {
    if (!Array.isArray(value)) throw new UsageError(`${name} must be a list, not ${shown(value)}`);
    value.forEach((member: unknown, index) => item(member, `${name}[${index}]`));
  };
}

/** An object that is used as a map with these values. */
export function mustBeRecordOf(item: OptionCheck): OptionCheck {
  return (value, name) => {
    mustBeObject(value, name);
    for (const [key, member] of Object.entries(value as object)) item(member, `${name}[${JSON.stringify(key)}]`);
  };
}

/** An object with these members and no others; those not in `required` may be undefined. */
export function mustBeShape<T>(checks: Checks<T>, required: readonly (keyof T & string)[] = []): OptionCheck {
  const members = mustHaveMembers(checks, required);
  const known = Object.keys(checks);
  return (value, name) => {
    mustBeObject(value, name);
    const unknown = Object.keys(value as object).find((member) => !known.includes(member));
    if (unknown !== undefined)
      throw new UsageError(`${name} has no member ${shown(unknown)}; its members are ${known.join(', ')}`);
    members(value, name);
  };
}

/** As {@link mustBeShape}, but other members are permitted, as in an object of a cache. */
export function mustHaveMembers<T>(checks: Checks<T>, required: readonly (keyof T & string)[] = []): OptionCheck {
  return (value, name) => {
    mustBeObject(value, name);
    for (const [member, checkMember] of Object.entries<OptionCheck>(checks)) {
      const given = (value as Readonly<Record<string, unknown>>)[member];
      const isNeeded = required.some((needed) => needed === member);
      if (given !== undefined || isNeeded) checkMember(given, `${name}.${member}`);
    }
  };
}

/** Whether a value has these methods. It may come from another realm, or have its own class. */
export function hasMethods(names: readonly string[]): (value: unknown) => boolean {
  return (value) => isObject(value) && names.every((name) => typeof Reflect.get(value, name) === 'function');
}

function rangeText(min: number, max: number): string {
  const text = (bound: number): string => bound.toLocaleString('en-US');
  return max < maxTimerMs ? ` from ${text(min)} to ${text(max)}` : ` of at least ${text(min)}`;
}

/** A value for people. Objects may contain credentials: only their type is shown. */
function shown(value: unknown): string {
  if (typeof value === 'string')
    return JSON.stringify(value.length > maxShownText ? `${value.slice(0, maxShownText)}…` : value);
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'function') return 'a function';
  if (typeof value === 'object' && value !== null) return 'an object';
  return String(value);
}
