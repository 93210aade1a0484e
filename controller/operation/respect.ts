import { DriftlessError } from '#base';
import { reasonNotApplied } from '#compare';
import type { ManagedPair } from '#compare';
import { JqAnswers, respectIgnored } from '#diff';
import type { DiffRules } from '#diff';
import { keyOf } from '#model';
import type { KubeObject, ResourceKey } from '#model';
import { changedWriter } from '#sync';
import type { ApplyOptions, ApplyResult, ClusterWriter } from '#sync';
import type { JqRunner } from '../comparison/jq-runner.ts';

/**
 * Makes the writer of a sync respect ignore rules. It refuses to apply a differing resource with a
 * rule that cannot be evaluated. With `rules` (RespectIgnoreDifferences), it sends ignored fields
 * with their live values. New objects and hooks are applied unchanged.
 *
 * Source: Argo CD controller/sync.go normalizeTargetResources. It wraps the writer instead of
 * changing the targets, because the result depends on the kind of apply and on the current live
 * object (`ApplyOptions.buildTarget`).
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
  return changedWriter(writer, {
    apply: async (target, live, how, signal): Promise<ApplyResult> => {
      const pair = managed.get(keyOf(live ?? target));
      if (pair === undefined) return writer.apply(target, live, how, signal);
      const refusal = reasonNotApplied(pair);
      if (refusal !== undefined) throw new DriftlessError('IGNORE_RULE', refusal, { retry: 'never' });
      if (rules === undefined) return writer.apply(target, live, how, signal);
      const buildTarget = (present: KubeObject, given: AbortSignal): Promise<KubeObject> =>
        respectedTarget({ target, live: present, how, rules, jq }, given);
      return writer.apply(target, live, { ...how, buildTarget }, signal);
    },
  });
}

const jqBudgetSpent =
  'not applied, because it may overwrite what should be ignored: the jq programs of all ignore rules together exceed the work limit. Use fewer or simpler programs';

interface RespectedApply {
  readonly target: KubeObject;
  readonly live: KubeObject;
  readonly how: ApplyOptions;
  readonly rules: DiffRules;
  readonly jq: Pick<JqRunner, 'answer'> | undefined;
}

/** Runs jq-only rules against the exact object that will be overwritten. */
async function respectedTarget(
  { target, live, how, rules, jq: runner }: RespectedApply,
  signal: AbortSignal,
): Promise<KubeObject> {
  // Server-side apply ignores force (GuardedWriter).
  const gentle = how.serverSide ? 'server' : how.force ? 'whole' : 'client';
  const jq = new JqAnswers();
  const once = (): KubeObject =>
    respectIgnored(target, live, runner === undefined ? rules : { ...rules, jq }, how.replace ? 'whole' : gentle);
  let sent = once();
  for (let round = 0; runner !== undefined && jq.openQuestions().length > 0; round += 1) {
    if (round === maxJqRounds) throw new DriftlessError('IGNORE_RULE', jqBudgetSpent, { retry: 'never' });
    await runner.answer(jq, signal);
    sent = once();
  }
  if (rules.work !== undefined && rules.work.left < 0)
    throw new DriftlessError('IGNORE_RULE', jqBudgetSpent, { retry: 'never' });
  return sent;
}

const maxJqRounds = 50;
