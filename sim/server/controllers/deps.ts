import type { Clock } from '#base';
import type { ObjectDeleter } from '../storage/deletion.ts';
import type { ObjectStore } from '../storage/objects.ts';
import type { KindRegistry } from '../discovery/registry.ts';
import type { RevisionedStorage } from '../storage/storage.ts';

/** Dependencies of the server's own controllers. */
export interface SimControllerDeps {
  readonly storage: RevisionedStorage;
  readonly registry: KindRegistry;
  readonly objects: ObjectStore;
  readonly deletion: ObjectDeleter;
  readonly clock: Clock;
}
