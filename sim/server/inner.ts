import type { Clock } from '#base';
import type { Deletion } from './deletion.ts';
import type { Objects } from './objects.ts';
import type { Registry } from './registry.ts';
import type { Storage } from './storage.ts';

/** What the server's own controllers work with. */
export interface Inner {
  readonly storage: Storage;
  readonly registry: Registry;
  readonly objects: Objects;
  readonly deletion: Deletion;
  readonly clock: Clock;
}
