import { DriftlessError } from '#base';
import { adoptFields, clientSideManagers } from '#diff';
import { isConflict, KubeApiError } from '#kube';
import type { KubeClient, NamedObject } from '#kube';
import { fieldManager, refOf } from '#model';
import type { ApiResource, KubeObject } from '#model';
import type { Send } from './ownership-guard.ts';

/** How often a migration is tried that loses races with other writers. */
const tries = 5;

export interface MigrationDeps {
  readonly client: KubeClient;
  readonly read: (resource: ApiResource, name: NamedObject, signal: AbortSignal) => Promise<KubeObject | null>;
  /** The choke point of all writes. */
  readonly write: <T>(signal: AbortSignal, send: Send<T>) => Promise<T>;
}

/** Where an object is. */
export interface MigrationPlace {
  readonly resource: ApiResource;
  readonly name: NamedObject;
}

/**
 * Before a server-side apply: makes ours what `from` has applied client-side, so that what Git drops goes (Argo CD: gitops-engine/pkg/sync
 * performCSAUpgradeMigration). One write at most, and none where the live object that is known shows nothing to take over.
 * @throws DriftlessError in Argo CD's words; OwnershipLost and the abort reason as they are.
 */
export async function adoptBefore(
  deps: MigrationDeps,
  place: MigrationPlace,
  { live, from }: { readonly live: KubeObject; readonly from: string },
  signal: AbortSignal,
): Promise<void> {
  if (adoptFields(live, from, fieldManager) === undefined) return;
  try {
    await adopt(deps, place, from, signal);
  } catch (error) {
    if (!(error instanceof KubeApiError)) throw error;
    const { group, kind, namespace, name } = refOf(live);
    const message = `Failed to perform client-side apply migration for ${group}/${kind}/${namespace}/${name}: ${error.message}`;
    throw new DriftlessError('MIGRATION', message, { retry: 'backoff', cause: error });
  }
}

/**
 * After a server-side apply: takes over what still holds kubectl's note of a client-side apply, ours mostly. True when there was something: the object
 * is to be applied once more then, so that the note goes. What the server refuses stays as it is, until the next sync (kubectl: a warning).
 */
export async function adoptAfter(
  deps: MigrationDeps,
  place: MigrationPlace,
  stored: KubeObject,
  signal: AbortSignal,
): Promise<boolean> {
  const managers = clientSideManagers(stored);
  try {
    for (const manager of managers) await adopt(deps, place, manager, signal);
    return managers.length > 0;
  } catch (error) {
    if (error instanceof KubeApiError) return false;
    throw error;
  }
}

async function adopt(deps: MigrationDeps, place: MigrationPlace, from: string, signal: AbortSignal): Promise<void> {
  const { resource, name } = place;
  for (let attempt = 1; ; attempt += 1) {
    const live = await deps.read(resource, name, signal);
    const body = live === null ? undefined : adoptFields(live, from, fieldManager);
    if (body === undefined) return;
    try {
      await deps.write(signal, (inner) =>
        deps.client.patch(resource, name, { type: 'json', body }, { signal: inner, fieldManager }),
      );
      return;
    } catch (error) {
      if (!isConflict(error) || attempt === tries) throw error;
    }
  }
}
