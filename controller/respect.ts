import { DriftlessError } from '#base';
import { respectIgnored } from '#diff';
import type { DiffRules } from '#diff';
import { keyOf } from '#model';
import type { KubeObject, ResourceKey } from '#model';
import type { ApplyHow, ApplyResult, ClusterWriter } from '#sync';
import type { ManagedPair } from './comparison.ts';
import { heldBack } from './rule-faults.ts';

/**
 * The writer of a sync, made to keep ignore rules: a resource of which a rule cannot be evaluated and that differs is not applied, and with
 * `rules` (RespectIgnoreDifferences) what they ignore is sent as it is live. What is not there yet, and hooks, are applied as they are.
 *
 * Source: Argo CD controller/sync.go normalizeTargetResources. It works here, and not on the list of targets, because what has to be sent
 * depends on how it is sent, and because here `live` is what the object is patched against.
 */
export function respectingWriter(
  writer: ClusterWriter,
  pairs: readonly ManagedPair[],
  rules: DiffRules | undefined,
): ClusterWriter {
  const managed = new Map<ResourceKey, ManagedPair>();
  for (const pair of pairs)
    if (pair.live !== null && pair.target !== null && !pair.hook) managed.set(keyOf(pair.live), pair);
  return {
    get surface() {
      return writer.surface;
    },
    get: (object, signal) => writer.get(object, signal),
    create: (object, dryRun, signal) => writer.create(object, dryRun, signal),
    delete: (live, propagation, signal) => writer.delete(live, propagation, signal),
    patchMetadata: (live, patch, signal) => writer.patchMetadata(live, patch, signal),
    denied: (object, namespaced) => writer.denied(object, namespaced),
    apply: async (target, live, how, signal): Promise<ApplyResult> => {
      const pair = live === null ? undefined : managed.get(keyOf(live));
      if (live === null || pair === undefined) return writer.apply(target, live, how, signal);
      const refusal = heldBack(pair);
      if (refusal !== undefined) throw new DriftlessError('IGNORE_RULE', refusal, { retry: 'never' });
      return writer.apply(toSend(target, live, how, rules), live, how, signal);
    },
  };
}

const spent =
  'not applied, because it may overwrite what should be ignored: the jq programs of all ignore rules take too much work together. Make them fewer or simpler';

function toSend(target: KubeObject, live: KubeObject, how: ApplyHow, rules: DiffRules | undefined): KubeObject {
  if (rules === undefined) return target;
  const whole = how.replace || how.force;
  const sent = respectIgnored(target, live, rules, whole ? 'whole' : how.serverSide ? 'server' : 'client');
  if (rules.work !== undefined && rules.work.left < 0)
    throw new DriftlessError('IGNORE_RULE', spent, { retry: 'never' });
  return sent;
}
