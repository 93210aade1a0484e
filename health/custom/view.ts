import { isObject, own } from '#base';
import type { Json, JsonObject } from '#base';
import type { KubeObject } from '#model';

/** One entry of `status.conditions`, or of any list in the same form; absent fields are ''. */
export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly severity: string;
  readonly observedGeneration: number | undefined;
}

const none: Json = null;

/**
 * A forgiving reader of one object: what is absent or of another type reads as nothing, so that a rule never throws whatever a controller
 * (or an attacker) writes into a status. The typed built-in checks are strict, as Argo CD's are; custom kinds have no type to be strict about.
 */
export class View {
  readonly object: KubeObject;
  #conditions: readonly Condition[] | undefined;

  constructor(object: KubeObject) {
    this.object = object;
  }

  get(path: readonly string[]): Json {
    let value: Json = this.object as unknown as JsonObject;
    for (const part of path) {
      if (!isObject(value)) return none;
      value = own(value, part) ?? none;
    }
    return value;
  }

  /** A string, or what a number or a boolean reads as; '' for the rest. */
  text(path: string): string {
    return textOf(this.get(split(path)));
  }

  number(path: string): number | undefined {
    return numberOf(this.get(split(path)));
  }

  has(path: string): boolean {
    return this.get(split(path)) !== null;
  }

  list(path: string): readonly JsonObject[] {
    const value = this.get(split(path));
    return Array.isArray(value) ? (value as readonly Json[]).filter(isObject) : [];
  }

  /** The members of a map, in the order of their names: Lua's own order is arbitrary, ours is not. */
  members(path: string): readonly (readonly [string, Json])[] {
    const value = this.get(split(path));
    if (!isObject(value)) return [];
    return Object.keys(value)
      .sort()
      .map((key) => [key, own(value, key) ?? none]);
  }

  get conditions(): readonly Condition[] {
    this.#conditions ??= conditionsOf(this.get(['status', 'conditions']));
    return this.#conditions;
  }

  condition(type: string): Condition | undefined {
    for (const condition of this.conditions) if (condition.type === type) return condition;
    return undefined;
  }

  get kind(): string {
    return this.object.kind;
  }

  get generation(): number | undefined {
    return this.number('metadata.generation');
  }

  annotation(name: string): string {
    return textOf(this.get(['metadata', 'annotations', name]));
  }
}

const paths = new Map<string, readonly string[]>();

/** `status.phase` in parts. Only paths of the tables come here: the memory is bounded by them. */
export function split(path: string): readonly string[] {
  let parts = paths.get(path);
  if (parts === undefined) {
    parts = path.split('.');
    paths.set(path, parts);
  }
  return parts;
}

export function textOf(value: Json | undefined): string {
  switch (typeof value) {
    case 'string':
      return value;
    case 'number':
    case 'bigint':
    case 'boolean':
      return String(value);
    default:
      return '';
  }
}

export function numberOf(value: Json | undefined): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value === 'bigint') return Number(value);
  return undefined;
}

/** Conditions in any place of an object; entries without a type are dropped, a boolean status reads as the word. */
export function conditionsOf(value: Json | undefined): readonly Condition[] {
  if (!Array.isArray(value)) return [];
  const found: Condition[] = [];
  for (const item of value as readonly Json[]) {
    if (!isObject(item)) continue;
    const status = own(item, 'status');
    found.push({
      type: textOf(own(item, 'type')),
      status: status === true ? 'True' : status === false ? 'False' : textOf(status),
      reason: textOf(own(item, 'reason')),
      message: textOf(own(item, 'message')),
      severity: textOf(own(item, 'severity')),
      observedGeneration: numberOf(own(item, 'observedGeneration')),
    });
  }
  return found;
}
