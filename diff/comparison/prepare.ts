import { hashJson } from '#base';
import type { JsonObject } from '#base';
import { refOf } from '#model';
import type { KubeObject, Settings } from '#model';
import { ignoredInUpdates } from '../ignore/ignored.ts';
import type { IgnoredFields } from '../ignore/ignored.ts';
import type { EmptyFields } from '../normalize/canonical.ts';
import { normalize } from '../normalize/normalize.ts';
import { asJson } from '../shared/values.ts';

export function preparer(
  settings: Settings,
  ignored: IgnoredFields,
): (object: JsonObject, empties?: EmptyFields) => JsonObject {
  return (object, empties = 'drop') => ignored.remove(normalize(object, settings.ignoreAggregatedRoles, empties));
}

/**
 * Hashes everything that counts in a live object: an update that keeps the hash needs no comparison
 * (Argo CD: controller/cache, ignoreResourceUpdates). Resource version, generation and managed
 * fields never count, nor what `settings` ignore. A rule that cannot be run hides nothing.
 */
export function fingerprint(object: KubeObject, settings: Settings): string {
  return hashJson(updateContent(object, settings));
}

/** Everything that counts in a live object; see {@link fingerprint}, which is its hash. */
export function updateContent(object: KubeObject, settings: Settings): JsonObject {
  return preparer(settings, ignoredInUpdates(refOf(object), settings))(asJson(object));
}
