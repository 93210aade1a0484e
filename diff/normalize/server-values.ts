import { isObject, ownMember, valueAt } from '#base';
import type { Json, JsonObject } from '#base';
import { textOf, withMember } from '../shared/values.ts';

/** The API server writes it into DaemonSets, a relic of extensions/v1beta1. */
const templateGeneration = 'deprecated.daemonset.template.generation';

const cpuTarget = 'targetCPUUtilizationPercentage';

/**
 * The stored form of a manifest, with what some API servers add besides their constant defaults.
 * The manager of a write owns these too, so that they look like what it sent.
 */
export function withServerValues(stored: Json, live: JsonObject): Json {
  if (!isObject(stored)) return stored;
  const [version, kind] = [textOf(ownMember(stored, 'apiVersion')), ownMember(stored, 'kind')];
  // An autoscaler is stored as v2, whose default for no metrics is this.
  if (version === 'autoscaling/v1' && valueAt(live, 'spec', cpuTarget) === 80)
    return withCopyOf(stored, live, ['spec', cpuTarget]);
  if (!version.startsWith('apps/')) return stored;
  if (kind === 'DaemonSet') return withCopyOf(stored, live, ['metadata', 'annotations', templateGeneration]);
  // The feature gate MaxUnavailableStatefulSet sets 1, which means the same as its absence.
  return kind === 'StatefulSet' ? withMaxUnavailable(stored) : stored;
}

/** Copies a value of live where the stored form lacks it. */
function withCopyOf(stored: JsonObject, live: JsonObject, [key = '', ...rest]: readonly string[]): JsonObject {
  const [there, here] = [ownMember(live, key), ownMember(stored, key)];
  if (there === undefined || (rest.length === 0 && here !== undefined)) return stored;
  if (rest.length === 0) return withMember(stored, key, there);
  return isObject(there) ? withMember(stored, key, withCopyOf(isObject(here) ? here : {}, there, rest)) : stored;
}

function withMaxUnavailable(stored: JsonObject): JsonObject {
  const spec = ownMember(stored, 'spec');
  const strategy = isObject(spec) ? ownMember(spec, 'updateStrategy') : undefined;
  const update = isObject(strategy) ? ownMember(strategy, 'rollingUpdate') : undefined;
  if (!isObject(spec) || !isObject(strategy) || !isObject(update)) return stored;
  if ((ownMember(update, 'maxUnavailable') ?? null) !== null) return stored;
  const filled = withMember(strategy, 'rollingUpdate', withMember(update, 'maxUnavailable', 1));
  return withMember(stored, 'spec', withMember(spec, 'updateStrategy', filled));
}
