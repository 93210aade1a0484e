import type { ResourceRef } from '#model';

/** The objects that a rule applies to. */
export interface RuleScope {
  readonly matchesKind: (ref: Pick<ResourceRef, 'group' | 'kind'>) => boolean;
  /** Empty: any. */
  readonly name: string;
  readonly namespace: string;
}

/** The rules of one kind, with all names and namespaces that they mention. */
interface KindRules<R> {
  readonly rules: readonly R[];
  readonly names: ReadonlySet<string>;
  readonly namespaces: ReadonlySet<string>;
}

/** Finds the rules for an object. Each rule's kind pattern is matched once for each kind. */
export class RuleIndex<R extends RuleScope> {
  readonly #rules: readonly R[];
  readonly #kinds = new Map<string, KindRules<R>>();

  constructor(rules: readonly R[]) {
    this.#rules = rules;
  }

  /** In the order of the list. */
  rulesFor(ref: ResourceRef): readonly R[] {
    const { rules, names, namespaces } = this.#kind(ref);
    if (names.size + namespaces.size === 0) return rules;
    return rules.filter(
      ({ name, namespace }) => (name === '' || name === ref.name) && (namespace === '' || namespace === ref.namespace),
    );
  }

  /** Equal for objects to which the same rules apply. */
  keyOf(ref: ResourceRef): string {
    const { names, namespaces } = this.#kind(ref);
    const name = names.has(ref.name) ? ref.name : '';
    const namespace = namespaces.has(ref.namespace) ? ref.namespace : '';
    return `${ref.group}/${ref.kind} ${namespace}/${name}`;
  }

  #kind(ref: ResourceRef): KindRules<R> {
    const key = `${ref.group}/${ref.kind}`;
    const known = this.#kinds.get(key);
    if (known !== undefined) return known;
    if (this.#kinds.size >= maxCachedKinds) this.#kinds.clear();
    const rules = this.#rules.filter(({ matchesKind }) => matchesKind(ref));
    const named = rules.filter(({ name }) => name !== '').map(({ name }) => name);
    const placed = rules.filter(({ namespace }) => namespace !== '').map(({ namespace }) => namespace);
    const found = { rules, names: new Set(named), namespaces: new Set(placed) };
    this.#kinds.set(key, found);
    return found;
  }
}

/** Cached kinds; an Application has some dozens. */
const maxCachedKinds = 500;
