import { DriftlessError } from '#base';
import { adoptFields, clientSideManagers } from '#diff';
import { isConflict, KubeApiError } from '#kube';
import type { KubeClient, NamedObject } from '#kube';
import { fieldManager, refOf } from '#model';
import type { ApiResource, KubeObject } from '#model';
import type { FencedSend } from '../admission/ownership-guard.ts';

/** Attempts of a migration that conflicts with other writers. */
const maxMigrationAttempts = 5;

export interface MigrationDeps {
  readonly client: KubeClient;
  readonly read: (resource: ApiResource, name: NamedObject, signal: AbortSignal) => Promise<KubeObject | null>;
  /** Sends a write through GuardedWriter's choke point. */
  readonly write: <T>(signal: AbortSignal, send: FencedSend<T>) => Promise<T>;
}

/** Identifies an object for the client. */
export interface MigratedObject {
  readonly resource: ApiResource;
  readonly name: NamedObject;
}

/**
 * Before a server-side apply: takes over the fields that `from` applied client-side, so that fields
 * dropped from Git are removed (Argo CD: gitops-engine/pkg/sync performCSAUpgradeMigration). One
 * write at most, none if the live object has no such fields.
 *
 * @throws DriftlessError with Argo CD's message; OwnershipLost and abort reasons pass through.
 */
export async function migrateBeforeApply(
  deps: MigrationDeps,
  place: MigratedObject,
  { live, from }: { readonly live: KubeObject; readonly from: string },
  signal: AbortSignal,
): Promise<void> {
  if (adoptFields(live, from, fieldManager) === undefined) return;
  try {
    await migrateManager(deps, place, from, signal);
  } catch (error) {
    if (!(error instanceof KubeApiError)) throw error;
    const { group, kind, namespace, name } = refOf(live);
    const message = `Failed to perform client-side apply migration for ${group}/${kind}/${namespace}/${name}: ${error.message}`;
    throw new DriftlessError('MIGRATION', message, { retry: 'backoff', cause: error });
  }
}

/**
 * After a server-side apply: takes over remaining client-side managers, mostly our own. True if
 * there were any: apply again to remove the last-applied annotation. A refusal is ignored until the
 * next sync (kubectl: a warning).
 */
export async function migrateAfterApply(
  deps: MigrationDeps,
  place: MigratedObject,
  stored: KubeObject,
  signal: AbortSignal,
): Promise<boolean> {
  const managers = clientSideManagers(stored);
  try {
    for (const manager of managers) await migrateManager(deps, place, manager, signal);
    return managers.length > 0;
  } catch (error) {
    if (error instanceof KubeApiError) return false;
    throw error;
  }
}

async function migrateManager(
  deps: MigrationDeps,
  place: MigratedObject,
  from: string,
  signal: AbortSignal,
): Promise<void> {
  const { resource, name } = place;
  for (let attempt = 1; ; attempt += 1) {
    const live = await deps.read(resource, name, signal);
    const body = live === null ? undefined : adoptFields(live, from, fieldManager);
    if (body === undefined) return;
    try {
      await deps.write(signal, (call) =>
        deps.client.patch(resource, name, { type: 'json', body }, { ...call, fieldManager }),
      );
      return;
    } catch (error) {
      if (!isConflict(error) || attempt === maxMigrationAttempts) throw error;
    }
  }
}
