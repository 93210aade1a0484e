import { DriftlessError, outsideText, UsageError } from '#base';
import { keyOf } from '#model';
import type { KubeObject, ResourceKey } from '#model';
import { changedWriter } from '#sync';
import type { ClusterWriter } from '#sync';
import type { SyncOwner } from './types.ts';

/** The object has the label of another owner, and may be neither applied nor deleted. */
class OwnedByOther extends DriftlessError {
  constructor(why: string) {
    super('OWNED_BY_OTHER', why, { retry: 'never' });
  }
}

/** The owner label of a sync: what it applies gets it, and what has another value is not ours. */
export class OwnerLabel {
  readonly #owner: SyncOwner | undefined;

  constructor(owner: SyncOwner | undefined) {
    this.#owner = owner;
  }

  /** @throws UsageError for a target that names another owner. */
  labelled(targets: readonly KubeObject[]): readonly KubeObject[] {
    const owner = this.#owner;
    if (owner === undefined) return targets;
    return targets.map((target, index) => {
      const other = this.#otherValue(target);
      if (other !== undefined)
        throw new UsageError(`target ${index} has the label ${owner.label} of ${other}: this sync is "${owner.value}"`);
      const labels = { ...target.metadata.labels, [owner.label]: owner.value };
      return { ...target, metadata: { ...target.metadata, labels } };
    });
  }

  /** Why a live object without a target is not pruned. Undefined: it has no other owner. */
  whyKept(live: KubeObject): string | undefined {
    const other = this.#otherOwner(live);
    return other === undefined ? undefined : `${other} manages it`;
  }

  /** Why a sync may not apply over this object. Undefined: it may. */
  refusal(live: KubeObject | null | undefined): string | undefined {
    if (live === null || live === undefined || this.#owner?.adopt === true) return undefined;
    const other = this.#otherOwner(live);
    return other === undefined ? undefined : `it belongs to ${other}: set owner.adopt to take it over`;
  }

  /** The writer, which refuses objects of other owners: targets before the sync begins. */
  guard(writer: ClusterWriter, liveTargets: ReadonlyMap<ResourceKey, KubeObject>): ClusterWriter {
    if (this.#owner === undefined) return writer;
    const check = (live: KubeObject | null): void => {
      const why = this.refusal(live);
      if (why !== undefined) throw new OwnedByOther(why);
    };
    return changedWriter(writer, {
      denied: (object, namespaced) => writer.denied(object, namespaced) ?? this.refusal(liveTargets.get(keyOf(object))),
      apply: async (target, live, how, signal) => {
        check(live);
        return writer.apply(target, live, how, signal);
      },
      delete: async (live, propagation, signal) => {
        check(live);
        return writer.delete(live, propagation, signal);
      },
    });
  }

  #otherOwner(live: KubeObject): string | undefined {
    const other = this.#otherValue(live);
    return other === undefined ? undefined : `owner ${other} (label ${this.#owner?.label ?? ''})`;
  }

  /** The value of the label, quoted, if it names another owner. */
  #otherValue({ metadata }: KubeObject): string | undefined {
    const value = this.#owner === undefined ? undefined : metadata.labels?.[this.#owner.label];
    if (value === undefined || value === this.#owner?.value) return undefined;
    return `"${outsideText('field', value)}"`;
  }
}
