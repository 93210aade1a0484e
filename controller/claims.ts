import { appKeyOf } from '#model';
import type { AppKey, Application, ResourceRef, ResourceStatus } from '#model';
import { ProjectUnusable } from './errors.ts';

export interface ClaimsDeps {
  /** All Applications, also those of other replicas. */
  readonly apps: () => Iterable<Application>;
  readonly serverOf: (app: Application) => string | undefined;
  /** What the project of an Application lets it have. Throws ProjectUnusable. */
  readonly permits: (app: Application, ref: ResourceRef) => boolean;
}

/** An object on a cluster, and the Application that would delete it. */
export interface Doomed {
  readonly key: AppKey;
  readonly server: string;
  readonly ref: ResourceRef;
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

  /** The first other Application, by its key, that has the object; undefined when none has. Looks at all Applications: ask only about what is to go. */
  claimant({ key, server, ref }: Doomed): AppKey | undefined {
    let found: AppKey | undefined;
    for (const app of this.#deps.apps()) {
      const other = appKeyOf(app);
      if (other === key || app.metadata.deletionTimestamp !== undefined) continue;
      if (found !== undefined && found < other) continue;
      const rows = app.status?.resources ?? [];
      if (!rows.some((row) => isWanted(row, ref)) || this.#deps.serverOf(app) !== server) continue;
      if (this.#permits(app, ref)) found = other;
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

/** In Git, as far as the last comparison knows: what is there only because it was left over requires pruning. */
function isWanted(row: ResourceStatus, { group, kind, namespace, name }: ResourceRef): boolean {
  return (
    row.name === name &&
    row.kind === kind &&
    (row.group ?? '') === group &&
    (row.namespace ?? '') === namespace &&
    row.requiresPruning !== true &&
    row.hook !== true
  );
}
