import type { Controller } from '#controller';
import type { Ownership } from '#sharding';

/** Sources of the answers of a replica's endpoints. */
export interface ApiParts {
  readonly controller: Controller;
  readonly ownership: Ownership;
  readonly ready: () => { readonly ok: boolean; readonly reason?: string };
}
