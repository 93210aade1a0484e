import type { Comparison } from '#compare';
import { appKeyOf, keyOfRef, refOf, refOfStatus } from '#model';
import type { AppKey, Application, ResourceKey, ResourceRef } from '#model';
import { ProjectUnusable } from './errors.ts';

export interface ClaimsDeps {
  /** All Applications, also those of other replicas. */
  readonly apps: () => Iterable<Application>;
  readonly serverOf: (app: Application) => string | undefined;
  /** What the project of an Application lets it have. Throws ProjectUnusable. */
  readonly permits: (app: Application, ref: ResourceRef) => boolean;
}

/** Objects on a cluster, and the Application that would delete them. */
export interface Doomed {
  readonly key: AppKey;
  readonly server: string;
  readonly refs: readonly ResourceRef[];
}

/**
 * Who else has an object among its manifests. The tracking of an object names one Application only, the one that applied it last; two may have it in
 * Git all the same, and when one of them lets go of a Namespace, the other one would lose everything in it.
 *
 * Known from the last comparison of each Application. One that is being deleted, that goes to another cluster, or whose project does not let it have
 * the object claims nothing: nobody can keep another one's objects from being deleted by naming them.
 *
 * Difference: Argo CD deletes what the tracking says, whoever else has it.
 */
export class Claims {
  readonly #deps: ClaimsDeps;

  constructor(deps: ClaimsDeps) {
    this.#deps = deps;
  }

  /**
   * Those of the objects that another Application has, each with the first that has it, by its key. One look at the rows of all Applications, however
   * many objects are asked about: ask about all that are to go at once, and about no others.
   */
  claimants({ key, server, refs }: Doomed): ReadonlyMap<ResourceKey, AppKey> {
    const found = new Map<ResourceKey, AppKey>();
    const names = new Set(refs.map(({ name }) => name));
    const wanted = new Set(refs.map(keyOfRef));
    for (const app of wanted.size === 0 ? [] : this.#deps.apps()) {
      const other = appKeyOf(app);
      if (other === key || app.metadata.deletionTimestamp !== undefined) continue;
      for (const ref of claimedBy(app, names)) {
        const known = found.get(keyOfRef(ref));
        if (!wanted.has(keyOfRef(ref)) || (known !== undefined && known < other)) continue;
        if (this.#deps.serverOf(app) === server && this.#permits(app, ref)) found.set(keyOfRef(ref), other);
      }
    }
    return found;
  }

  #permits(app: Application, ref: ResourceRef): boolean {
    try {
      return this.#deps.permits(app, ref);
    } catch (error) {
      if (error instanceof ProjectUnusable) return false;
      throw error;
    }
  }
}

/** What Git has dropped. */
export function leftovers({ pairs }: Comparison): readonly ResourceRef[] {
  const refs: ResourceRef[] = [];
  for (const { target, live } of pairs) if (target === null && live !== null) refs.push(refOf(live));
  return refs;
}

/** What is in Git, as far as the last comparison knows: what is there only because it was left over requires pruning. */
function claimedBy(app: Application, names: ReadonlySet<string>): readonly ResourceRef[] {
  const rows = (app.status?.resources ?? []).filter(
    (row) => names.has(row.name ?? '') && row.requiresPruning !== true && row.hook !== true,
  );
  return rows.map(refOfStatus);
}
