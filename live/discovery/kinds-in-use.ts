import type { GroupKind } from '#model';
import { kindText } from './discovery.ts';

/** Stands for all kinds of a group. */
export const anyKind = '*';

/** Their objects define kinds, so discovery depends on them. */
const definingKinds: ReadonlySet<string> = new Set([
  'apiextensions.k8s.io/CustomResourceDefinition',
  'apiregistration.k8s.io/APIService',
]);

/**
 * The kinds that may have objects of ours; others are not watched. Nothing of a kind that is not
 * watched is ever pruned. So all kinds count until each was listed, and none is left out later.
 */
export class KindsInUse {
  readonly #onChange: (kinds: readonly string[]) => void;
  /** Kinds of targets and of writes, as `group/kind`. */
  readonly #used = new Set<string>();
  /** Undefined: all kinds. */
  #known: ReadonlySet<string> | undefined;
  /** Some kinds count only because they could not be listed yet. */
  #isOpen: boolean;
  #version = 0;

  /**
   * @param known what `onChange` was last called with, also in an earlier process; undefined: any
   * kind may have objects of ours.
   */
  constructor(known: readonly string[] | undefined, onChange: (kinds: readonly string[]) => void) {
    this.#known = known && new Set(known);
    this.#isOpen = known === undefined;
    this.#onChange = onChange;
  }

  /** Changes with the kinds. */
  get version(): number {
    return this.#version;
  }

  /** Whether kinds may be left out: some are in doubt, and those of the targets are known. */
  get mayNarrow(): boolean {
    return this.#isOpen && this.#used.size > 0;
  }

  includes(kind: GroupKind): boolean {
    const [known, text] = [this.#known, kindText(kind)];
    if (known === undefined || definingKinds.has(text)) return true;
    return known.has(text) || known.has(kindText({ group: kind.group, kind: anyKind }));
  }

  /** Whether the kind counts only until it is known whether it has objects of ours. */
  isSurveyed(kind: GroupKind): boolean {
    const text = kindText(kind);
    return this.#known === undefined && !this.#used.has(text) && !definingKinds.has(text);
  }

  /** Adds kinds of targets, and of objects that are about to be written. */
  add(kinds: Iterable<GroupKind>): void {
    const before = this.#used.size;
    for (const kind of kinds) this.#used.add(kindText(kind));
    if (this.#known !== undefined && this.#used.size > before) this.#set([...this.#known, ...this.#used]);
  }

  /**
   * Leaves out all kinds but these and the added ones.
   * @param isOpen some of these are in doubt, and may be left out later.
   */
  narrow(kinds: Iterable<GroupKind>, isOpen: boolean): void {
    this.#isOpen = isOpen;
    this.#set([...this.#used, ...[...kinds].map(kindText)]);
  }

  #set(kinds: Iterable<string>): void {
    const [before, next] = [this.#known, new Set(kinds)];
    if (before?.size === next.size && [...next].every((kind) => before.has(kind))) return;
    this.#known = next;
    this.#version += 1;
    this.#onChange([...next].sort());
  }
}
