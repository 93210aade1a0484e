import type { Controller } from '#controller';
import type { Ownership } from '#sharding';

/** What the endpoints of a replica answer from. */
export interface ApiParts {
  readonly controller: Controller;
  readonly ownership: Ownership;
  readonly ready: () => { readonly ok: boolean; readonly reason?: string };
  /** The JSON of /debug/state. */
  readonly state: () => unknown;
}
