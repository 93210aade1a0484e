import { canonicalJson, isObject } from '#base';
import type { Json, JsonObject, MutableJsonObject } from '#base';

/**
 * A set of field paths as in managedFields: a tree whose steps are FieldsV1 texts: `f:name` a field
 * or map key, `k:{"name":"a"}` an item of a list map, `v:"x"` an item of a set, `i:0` an index. A
 * step that is itself in the set is a member (`"."` in the text if it also has children). Immutable
 * (structured-merge-diff fieldpath).
 */
export class OwnedFieldSet {
  static readonly empty = new OwnedFieldSet(new Set(), new Map());

  readonly members: ReadonlySet<string>;
  readonly children: ReadonlyMap<string, OwnedFieldSet>;

  constructor(members: ReadonlySet<string>, children: ReadonlyMap<string, OwnedFieldSet>) {
    this.members = members;
    this.children = children;
  }

  static of(...paths: readonly (readonly string[])[]): OwnedFieldSet {
    const builder = new FieldSetBuilder();
    for (const path of paths) builder.add(path);
    return builder.build();
  }

  get isEmpty(): boolean {
    return this.members.size === 0 && this.children.size === 0;
  }

  has(path: readonly string[]): boolean {
    const [step, ...rest] = path;
    if (step === undefined) return false;
    return rest.length === 0 ? this.members.has(step) : (this.children.get(step)?.has(rest) ?? false);
  }

  under(step: string): OwnedFieldSet {
    return this.children.get(step) ?? OwnedFieldSet.empty;
  }

  union(other: OwnedFieldSet): OwnedFieldSet {
    if (this.isEmpty) return other;
    if (other.isEmpty) return this;
    const children = new Map(this.children);
    for (const [step, set] of other.children) children.set(step, children.get(step)?.union(set) ?? set);
    return new OwnedFieldSet(new Set([...this.members, ...other.members]), children);
  }

  intersection(other: OwnedFieldSet): OwnedFieldSet {
    const children = new Map<string, OwnedFieldSet>();
    for (const [step, set] of this.children) keepNonEmpty(children, step, set.intersection(other.under(step)));
    return new OwnedFieldSet(new Set([...this.members].filter((step) => other.members.has(step))), children);
  }

  /** The members that `other` lacks. A path in `other` removes only itself, not its descendants. */
  difference(other: OwnedFieldSet): OwnedFieldSet {
    const children = new Map<string, OwnedFieldSet>();
    for (const [step, set] of this.children) keepNonEmpty(children, step, set.difference(other.under(step)));
    return new OwnedFieldSet(new Set([...this.members].filter((step) => !other.members.has(step))), children);
  }

  /** Like `difference`, but a path in `other` also removes its descendants. */
  recursiveDifference(other: OwnedFieldSet): OwnedFieldSet {
    const children = new Map<string, OwnedFieldSet>();
    for (const [step, set] of this.children)
      if (!other.members.has(step)) keepNonEmpty(children, step, set.recursiveDifference(other.under(step)));
    return new OwnedFieldSet(new Set([...this.members].filter((step) => !other.members.has(step))), children);
  }

  equals(other: OwnedFieldSet): boolean {
    return canonicalJson(this.toFieldsV1()) === canonicalJson(other.toFieldsV1());
  }

  /** All members, parents first. */
  *paths(prefix: readonly string[] = []): Generator<readonly string[]> {
    for (const step of [...new Set([...this.members, ...this.children.keys()])].sort()) {
      if (this.members.has(step)) yield [...prefix, step];
      yield* this.under(step).paths([...prefix, step]);
    }
  }

  toFieldsV1(): MutableJsonObject {
    const result: MutableJsonObject = {};
    for (const step of [...new Set([...this.members, ...this.children.keys()])].sort()) {
      const child = this.under(step).toFieldsV1();
      result[step] = this.members.has(step) && Object.keys(child).length > 0 ? { '.': {}, ...child } : child;
    }
    return result;
  }

  static fromFieldsV1(fields: Json | undefined): OwnedFieldSet {
    const members = new Set<string>();
    const children = new Map<string, OwnedFieldSet>();
    if (isObject(fields))
      for (const [step, below] of Object.entries(fields)) {
        if (step === '.') continue;
        const normal = normalStep(step);
        const child = OwnedFieldSet.fromFieldsV1(below);
        if (child.isEmpty || (isObject(below) && Object.hasOwn(below, '.'))) members.add(normal);
        keepNonEmpty(children, normal, child);
      }
    return new OwnedFieldSet(members, children);
  }
}

function keepNonEmpty(into: Map<string, OwnedFieldSet>, step: string, set: OwnedFieldSet): void {
  if (!set.isEmpty) into.set(step, set);
}

/** Normalizes keys written in another order or with spaces. */
function normalStep(step: string): string {
  if (!step.startsWith('k:') && !step.startsWith('v:')) return step;
  try {
    return step.slice(0, 2) + canonicalJson(JSON.parse(step.slice(2)) as Json);
  } catch {
    return step;
  }
}

/** Builds a set from single paths. */
export class FieldSetBuilder {
  readonly #members = new Set<string>();
  readonly #children = new Map<string, FieldSetBuilder>();

  add(path: readonly string[]): void {
    const [step, ...rest] = path;
    if (step === undefined) return;
    if (rest.length === 0) {
      this.#members.add(step);
      return;
    }
    let child = this.#children.get(step);
    if (child === undefined) this.#children.set(step, (child = new FieldSetBuilder()));
    child.add(rest);
  }

  build(): OwnedFieldSet {
    const children = new Map<string, OwnedFieldSet>();
    for (const [step, child] of this.#children) keepNonEmpty(children, step, child.build());
    return new OwnedFieldSet(this.#members, children);
  }
}

export function fieldPathStep(name: string): string {
  return `f:${name}`;
}

/**
 * `.spec.containers[name="a"].ports[containerPort=80,protocol="TCP"]`: a path as the server shows
 * it.
 */
export function showPath(path: readonly string[]): string {
  return path.map(showStep).join('');
}

function showStep(step: string): string {
  const text = step.slice(2);
  switch (step.slice(0, 2)) {
    case 'f:':
      return `.${text}`;
    case 'k:': {
      const keys = JSON.parse(text) as JsonObject;
      return `[${Object.keys(keys)
        .sort()
        .map((key) => `${key}=${canonicalJson(keys[key])}`)
        .join(',')}]`;
    }
    case 'v:':
      return `[=${text}]`;
    default:
      return `[${text}]`;
  }
}
