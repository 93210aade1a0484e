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
}

/** How a sync sends its targets. */
interface SendingRules {
  readonly rules: DiffRules;
  readonly how: Pick<SyncOptions, 'force' | 'validate'>;
}

/** The server-side diff of the controller, for the targets of a sync. Sends dry runs only. */
export async function diffOnServer(
  writer: OpenedWriter,
  pairs: readonly DiffedPair[],
  { rules, how }: SendingRules,
  signal: AbortSignal,
): Promise<readonly ServerDiff[]> {
  const { kinds } = await writer.schemas(
    pairs.map(({ target }) => target.apiVersion),
    signal,
  );
  const complete = { ...rules, schemas: kinds };
  return mapLimit(pairs, maxParallelDryRuns, async ({ target, live, refused }): Promise<ServerDiff> => {
    const ref = refOf(live ?? target);
    if (refused !== undefined) return { ...ref, change: 'refused', message: refused };
    if (live === null) return { ...ref, ...(await creationOf(writer, target, { rules: complete, how }, signal)) };
    const method = applyMethodOf(target, live, complete);
    const isLocal = isPreparedByWrites(target, live, complete);
    const outcome = isLocal ? undefined : await writer.predict({ target, live, method }, complete, signal);
    return { ...ref, ...resultOf({ target, live, outcome }, complete) };
  });
}

type Verdict = Pick<ServerDiff, 'change' | 'message' | 'diff'>;

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
  { rules, how: { force, validate } }: SendingRules,
  signal: AbortSignal,
): Promise<Verdict> {
  const method = applyMethodOf(target, null, rules);
  const how = { serverSide: method === 'server', replace: method === 'replace', force, validate };
  try {
    const predictedLive = await writer.predictCreation(target, how, signal);
    const sides = { normalizedLive: null, predictedLive, paths: [], faults: [] };
    return { change: 'created', diff: { modified: true, undecided: false, ...sides } };
  } catch (error) {
    signal.throwIfAborted();
    if (isAbort(error)) throw error;
    return { change: 'refused', message: messageOf(error) };
  }
}
