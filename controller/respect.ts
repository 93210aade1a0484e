import { DriftlessError } from '#base';
import { heldBack } from '#compare';
import type { ManagedPair } from '#compare';
import { JqAnswers, respectIgnored } from '#diff';
import type { DiffRules } from '#diff';
import { keyOf } from '#model';
import type { KubeObject, ResourceKey } from '#model';
import type { ApplyHow, ApplyResult, ClusterWriter } from '#sync';
import type { JqRunner } from './jq-runner.ts';

/**
 * The writer of a sync, made to keep ignore rules: a resource of which a rule cannot be evaluated and that differs is not applied, and with
 * `rules` (RespectIgnoreDifferences) what they ignore is sent as it is live. What is not there yet, and hooks, are applied as they are.
 *
 * Source: Argo CD controller/sync.go normalizeTargetResources. It works here, and not on the list of targets, because what has to be sent
 * depends on how it is sent, and on what is live then: the writer asks for it (`ApplyHow.over`).
 */
export function respectingWriter(
  writer: ClusterWriter,
  pairs: readonly ManagedPair[],
  rules: DiffRules | undefined,
  jq?: Pick<JqRunner, 'answer'>,
): ClusterWriter {
  const managed = new Map<ResourceKey, ManagedPair>();
  for (const pair of pairs) {
    const object = pair.live ?? pair.target;
    if (object !== null && pair.target !== null && !pair.hook) managed.set(keyOf(object), pair);
  }
  return {
    get discovery() {
      return writer.discovery;
    },
    get: (object, signal) => writer.get(object, signal),
    create: (object, dryRun, signal) => writer.create(object, dryRun, signal),
    delete: (live, propagation, signal) => writer.delete(live, propagation, signal),
    patchMetadata: (live, patch, signal) => writer.patchMetadata(live, patch, signal),
    denied: (object, namespaced) => writer.denied(object, namespaced),
    apply: async (target, live, how, signal): Promise<ApplyResult> => {
      const pair = managed.get(keyOf(live ?? target));
      if (pair === undefined) return writer.apply(target, live, how, signal);
      const refusal = heldBack(pair);
      if (refusal !== undefined) throw new DriftlessError('IGNORE_RULE', refusal, { retry: 'never' });
      if (rules === undefined) return writer.apply(target, live, how, signal);
      const over = (present: KubeObject, given: AbortSignal): Promise<KubeObject> =>
        toSend({ target, live: present, how, rules, jq }, given);
      return writer.apply(target, live, { ...how, over }, signal);
    },
  };
}

const spent =
  'not applied, because it may overwrite what should be ignored: the jq programs of all ignore rules take too much work together. Make them fewer or simpler';

interface Sending {
  readonly target: KubeObject;
  readonly live: KubeObject;
  readonly how: ApplyHow;
  readonly rules: DiffRules;
  readonly jq: Pick<JqRunner, 'answer'> | undefined;
}

/** Rules that only jq can run are run on the very object over which it is sent. */
async function toSend({ target, live, how, rules, jq: runner }: Sending, signal: AbortSignal): Promise<KubeObject> {
  // Server-side apply knows no force (GuardedWriter).
  const gentle = how.serverSide ? 'server' : how.force ? 'whole' : 'client';
  const jq = new JqAnswers();
  const once = (): KubeObject =>
    respectIgnored(target, live, runner === undefined ? rules : { ...rules, jq }, how.replace ? 'whole' : gentle);
  let sent = once();
  for (let round = 0; runner !== undefined && jq.open().length > 0; round += 1) {
    if (round === jqRounds) throw new DriftlessError('IGNORE_RULE', spent, { retry: 'never' });
    await runner.answer(jq, signal);
    sent = once();
  }
  if (rules.work !== undefined && rules.work.left < 0)
    throw new DriftlessError('IGNORE_RULE', spent, { retry: 'never' });
  return sent;
}

const jqRounds = 50;
