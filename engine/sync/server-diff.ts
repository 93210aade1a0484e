import { isAbort, mapLimit, messageOf } from '#base';
import { diffByOutcome, isPreparedByWrites } from '#compare';
import type { DryRunOutcome } from '#compare';
import { applyMethodOf } from '#diff';
import type { DiffRules } from '#diff';
import { refOf } from '#model';
import type { KubeObject } from '#model';
import type { SyncOptions } from '#sync';
import type { OpenedWriter } from './open-writer.ts';
import type { ServerDiff } from './types.ts';

const maxParallelDryRuns = 10;

interface DiffedPair {
  readonly target: KubeObject;
  readonly live: KubeObject | null;
  /** Why the sync would not apply the target. */
  readonly refused: string | undefined;
  /** Why the sync may start although the server does not serve the kind. */
  readonly awaitsKind: string | undefined;
}

/** How a sync sends its targets. */
interface SendingRules {
  /** Namespaces that the sync creates. */
  readonly namespaces: ReadonlySet<string>;
  readonly rules: DiffRules;
  readonly how: Pick<SyncOptions, 'force' | 'validate'>;
}

/** The server-side diff of the controller, for the targets of a sync. Sends dry runs only. */
export async function diffOnServer(
  writer: OpenedWriter,
  pairs: readonly DiffedPair[],
  { rules, how, namespaces }: SendingRules,
  signal: AbortSignal,
): Promise<readonly ServerDiff[]> {
  const { kinds } = await writer.schemas(
    pairs.map(({ target }) => target.apiVersion),
    signal,
  );
  const complete = { ...rules, schemas: kinds };
  return mapLimit(pairs, maxParallelDryRuns, async ({ target, live, refused, awaitsKind }): Promise<ServerDiff> => {
    const ref = refOf(live ?? target);
    if (refused !== undefined) return { ...ref, change: 'refused', message: refused };
    if (live === null && awaitsKind !== undefined) return { ...ref, ...unvalidated(target, awaitsKind) };
    if (live === null)
      return { ...ref, ...(await creationOf(writer, target, { rules: complete, how, namespaces }, signal)) };
    if (isPreparedByWrites(target, live, complete))
      return { ...ref, ...(await preparedOf(writer, { target, live }, complete, signal)) };
    const method = applyMethodOf(target, live, complete);
    const outcome = await writer.predict({ target, live, method }, complete, signal);
    return { ...ref, ...resultOf({ target, live, outcome }, complete) };
  });
}

/** The difference is computed locally, and the server validates its outcome. */
async function preparedOf(
  writer: OpenedWriter,
  { target, live }: Record<'target' | 'live', KubeObject>,
  rules: DiffRules,
  signal: AbortSignal,
): Promise<Verdict> {
  const verdict = resultOf({ target, live, outcome: undefined }, rules);
  const { normalizedLive, predictedLive } = verdict.diff ?? {};
  if (verdict.change !== 'changed' || !normalizedLive || !predictedLive) return verdict;
  const refused = await refusalOf(() => writer.validate(normalizedLive, predictedLive, signal), signal);
  return refused === undefined ? verdict : { change: 'refused', message: refused };
}

type Verdict = Pick<ServerDiff, 'change' | 'message' | 'diff' | 'unvalidated'>;

function resultOf(trial: Parameters<typeof diffByOutcome>[0], rules: DiffRules): Verdict {
  const { diff, refused, refusedChange } = diffByOutcome(trial, rules, 'excluded');
  const why = refusedChange ?? refused;
  if (why !== undefined) return { change: 'refused', message: reasonIn(trial.outcome) ?? why };
  return { change: diff.modified ? 'changed' : 'unchanged', diff };
}

/** The server's own words. */
function reasonIn(outcome: DryRunOutcome | undefined): string | undefined {
  return outcome !== undefined && 'refused' in outcome ? outcome.refused : undefined;
}

async function creationOf(
  writer: OpenedWriter,
  target: KubeObject,
  { rules, how: { force, validate }, namespaces }: SendingRules,
  signal: AbortSignal,
): Promise<Verdict> {
  const method = applyMethodOf(target, null, rules);
  const how = { serverSide: method === 'server', replace: method === 'replace', force, validate };
  const { namespace = '' } = target.metadata;
  let predicted = target;
  const refused = await refusalOf(async () => {
    predicted = await writer.predictCreation(target, how, signal);
  }, signal);
  if (refused !== undefined) return { change: 'refused', message: refused };
  // The writer accepts what a dry run cannot show. Only an answer of the server has a UID.
  if (predicted.metadata.uid !== undefined) return created(predicted);
  if (namespace === '' || (await writer.hasNamespace(namespace, signal)))
    return unvalidated(target, 'a webhook does not support dry runs');
  return namespaces.has(namespace)
    ? unvalidated(target, `Namespace ${namespace} is created first`)
    : { change: 'refused', message: `namespaces "${namespace}" not found` };
}

function created(predictedLive: KubeObject): Verdict {
  const sides = { normalizedLive: null, predictedLive, paths: [], faults: [] };
  return { change: 'created', diff: { modified: true, undecided: false, ...sides } };
}

function unvalidated(target: KubeObject, why: string): Verdict {
  return { ...created(target), message: `not validated: ${why}`, unvalidated: true };
}

/** Why the server refuses the request; undefined if it does not. */
async function refusalOf(send: () => Promise<unknown>, signal: AbortSignal): Promise<string | undefined> {
  try {
    await send();
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    if (isAbort(error)) throw error;
    return messageOf(error);
  }
}
