import { writesNamespaceMetadata } from '#compare';
import type { Comparison, NamespaceSharer } from '#compare';
import { appKeyOf, destinationNamespaceOf, keyOfRef, refOf, refOfStatus } from '#model';
import type { AppKey, Application, ResourceKey, ResourceRef } from '#model';
import { ProjectUnusable } from '../shared/errors.ts';

export interface ClaimsDeps {
  /** All Applications, including those of other replicas. */
  readonly apps: () => Iterable<Application>;
  readonly serverOf: (app: Application) => string | undefined;
  /** Whether the Application's project permits the resource. Throws ProjectUnusable. */
  readonly permits: (app: Application, ref: ResourceRef) => boolean;
}

/** Objects on a cluster, and the Application that would delete them. */
export interface DeletionCandidates {
  readonly key: AppKey;
  readonly server: string;
  readonly refs: readonly ResourceRef[];
}

/**
 * Finds the other Applications that have an object among their manifests. Tracking names only the
 * Application that applied an object last, but two may have it in Git; deleting a shared Namespace
 * for one of them would destroy everything that the other keeps in it.
 *
 * Based on the last comparison of each Application. An Application that is being deleted, targets
 * another cluster, or may not have the object by its project has no claim, so naming foreign
 * objects cannot protect them. Argo CD deletes by tracking alone.
 */
export class ManifestClaims {
  readonly #deps: ClaimsDeps;

  constructor(deps: ClaimsDeps) {
    this.#deps = deps;
  }

  /**
   * Maps each claimed object to the first Application (by key) that has it. Scans the status of the
   * cluster's Applications once per call: pass all objects to be deleted together, and no others.
   */
  claimants({ key, server, refs }: DeletionCandidates): ReadonlyMap<ResourceKey, AppKey> {
    const found = new Map<ResourceKey, AppKey>();
    const names = new Set(refs.map(({ name }) => name));
    const wanted = new Set(refs.map(keyOfRef));
    for (const app of wanted.size === 0 ? [] : this.#deps.apps()) {
      const other = appKeyOf(app);
      if (other === key || app.metadata.deletionTimestamp !== undefined) continue;
      // First what costs least: the status of another replica's Application has to be parsed.
      if (this.#deps.serverOf(app) !== server) continue;
      for (const ref of claimedBy(app, names)) {
        const known = found.get(keyOfRef(ref));
        if (!wanted.has(keyOfRef(ref)) || (known !== undefined && known < other)) continue;
        if (this.#permits(app, ref)) found.set(keyOfRef(ref), other);
      }
    }
    return found;
  }

  /** Other Applications that manage metadata of the destination Namespace, by key. */
  namespaceSharers(app: Application, server: string): readonly NamespaceSharer[] {
    const name = destinationNamespaceOf(app);
    const ref = { group: '', kind: 'Namespace', namespace: '', name };
    const sharers: NamespaceSharer[] = [];
    for (const other of writesNamespaceMetadata(app) ? this.#deps.apps() : []) {
      const metadata = other.spec.syncPolicy?.managedNamespaceMetadata;
      const key = appKeyOf(other);
      if (metadata === undefined || !writesNamespaceMetadata(other) || key === appKeyOf(app)) continue;
      if (destinationNamespaceOf(other) !== name || other.metadata.deletionTimestamp !== undefined) continue;
      if (this.#deps.serverOf(other) === server && this.#permits(other, ref)) sharers.push({ key, metadata });
    }
    return sharers.sort((a, b) => (a.key < b.key ? -1 : 1));
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

/** Live objects that are no longer in Git. */
export function pruneCandidates({ pairs }: Comparison): readonly ResourceRef[] {
  const refs: ResourceRef[] = [];
  for (const { target, live } of pairs) if (target === null && live !== null) refs.push(refOf(live));
  return refs;
}

/**
 * Resources that were in Git at the last comparison. `requiresPruning` marks those that were not.
 */
function claimedBy(app: Application, names: ReadonlySet<string>): readonly ResourceRef[] {
  const rows = (app.status?.resources ?? []).filter(
    (row) => names.has(row.name ?? '') && row.requiresPruning !== true && row.hook !== true,
  );
  return rows.map(refOfStatus);
}
