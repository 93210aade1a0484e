import { DriftlessError } from '#base';
import {
  adoptFields,
  clientSideManagers,
  kindKey,
  lacksManagedFields,
  managersToAdopt,
  mayReshape,
  readOpenApi,
  retiredVersions,
  shownShape,
} from '#diff';
import type { MigrationFacts } from '#diff';
import { isConflict, KubeApiError, readOpenApiDocument } from '#kube';
import type { KubeClient, NamedObject } from '#kube';
import { refOf } from '#model';
import type { ApiResource, KubeObject } from '#model';
import type { FencedSend } from '../admission/ownership-guard.ts';

/** Attempts of a migration that conflicts with other writers. */
const maxMigrationAttempts = 5;

export interface MigrationDeps {
  readonly client: KubeClient;
  readonly fieldManager: string;
  readonly read: (resource: ApiResource, name: NamedObject, signal: AbortSignal) => Promise<KubeObject | null>;
  /** Sends a write through GuardedWriter's choke point. */
  readonly write: <T>(signal: AbortSignal, send: FencedSend<T>) => Promise<T>;
}

/** Identifies an object for the client. */
export interface MigratedObject {
  readonly resource: ApiResource;
  readonly name: NamedObject;
}

/** A server-side apply that a migration precedes. */
export interface MigratedApply {
  readonly target: KubeObject;
  readonly live: KubeObject;
  /** The manager whose client-side fields are taken over; undefined: none are. */
  readonly from: string | undefined;
  /** Sends the apply as a dry run. */
  readonly predict: () => Promise<KubeObject>;
  /** Whether the API server serves an API version. */
  readonly isServed: (apiVersion: string) => boolean;
}

/**
 * Before a server-side apply: takes over the fields that `from` and we ourselves applied in other
 * ways, so that fields dropped from Git are removed (Argo CD: gitops-engine/pkg/sync
 * performCSAUpgradeMigration, without our own). So are those that we applied to a list or map of
 * another type. One write at most, none if there are none. Returns the object that the apply will
 * find.
 *
 * @throws DriftlessError with Argo CD's message; OwnershipLost and abort reasons pass through.
 */
export async function migrateBeforeApply(
  deps: MigrationDeps,
  place: MigratedObject,
  apply: MigratedApply,
  signal: AbortSignal,
): Promise<KubeObject> {
  const { live, from } = apply;
  const managers = managersToAdopt(live, from, deps);
  const known = await migrationFacts(deps, apply, managers, signal);
  if (adoptFields(live, managers, known) === undefined) return live;
  try {
    return (await migrateManagers(deps, place, { managers, known }, signal)) ?? live;
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
  const managers = clientSideManagers(stored, deps);
  try {
    if (managers.length > 0)
      await migrateManagers(deps, place, { managers, known: { fieldManager: deps.fieldManager } }, signal);
    return managers.length > 0;
  } catch (error) {
    if (error instanceof KubeApiError) return false;
    throw error;
  }
}

type ListAndMapTypes = MigrationFacts['shape'];

/**
 * Where it matters, asks the server by a dry run which types of lists and maps an apply obeys now:
 * published schemas may lag behind. They decide where the server refuses the dry run.
 */
async function migrationFacts(
  { client, fieldManager }: MigrationDeps,
  { target, live, predict, isServed }: MigratedApply,
  managers: readonly string[],
  signal: AbortSignal,
): Promise<MigrationFacts> {
  const retired = retiredVersions(live, isServed);
  const reshapes = mayReshape(live, target, managers, { fieldManager });
  if (retired.length === 0 && !reshapes) return { fieldManager };
  try {
    const shape = shownShape(await predict(), { fieldManager });
    return { ...(reshapes ? { target, shape } : {}), retired, fieldManager };
  } catch (error) {
    if (!(error instanceof KubeApiError)) throw error;
    return {
      ...(reshapes ? { target, shape: await publishedTypes(client, live, signal) } : {}),
      retired,
      fieldManager,
      isRefused: true,
    };
  }
}

/** Undefined if the server publishes none. */
async function publishedTypes(client: KubeClient, live: KubeObject, signal: AbortSignal): Promise<ListAndMapTypes> {
  try {
    const document = await readOpenApiDocument(client, live.apiVersion, { signal });
    return document === undefined ? undefined : readOpenApi(document).get(kindKey(live))?.shape;
  } catch (error) {
    if (error instanceof KubeApiError) return undefined;
    throw error;
  }
}

/** Returns the migrated object; undefined when there is nothing to migrate any more. */
async function migrateManagers(
  deps: MigrationDeps,
  place: MigratedObject,
  { managers, known }: { readonly managers: readonly string[]; readonly known: MigrationFacts },
  signal: AbortSignal,
): Promise<KubeObject | undefined> {
  const { resource, name } = place;
  for (let attempt = 1; ; attempt += 1) {
    const live = await deps.read(resource, name, signal);
    if (live === null) return undefined;
    const shape = lacksManagedFields(live) ? await publishedTypes(deps.client, live, signal) : known.shape;
    const body = adoptFields(live, managers, { ...known, shape });
    if (body === undefined) return undefined;
    try {
      return await deps.write(signal, (call) =>
        deps.client.patch(resource, name, { type: 'json', body }, { ...call, fieldManager: deps.fieldManager }),
      );
    } catch (error) {
      if (!isConflict(error) || attempt === maxMigrationAttempts) throw error;
    }
  }
}
