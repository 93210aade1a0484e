import { defined, formatGoDuration, isObject, outsideText } from '#base';
import type { Application, Operation, OperationState, ResourceResult } from '#model';
import type { CommandOutput } from '../process/output.ts';
import { paint, table } from '../process/output.ts';
import { structured } from '../process/structured.ts';
import { nameOf } from './errors.ts';

export type OutcomeState = 'requested' | 'done' | 'failed' | 'timed-out' | 'interrupted';

/** The outcome of a request, which is printed as text, JSON or YAML. */
export interface Outcome {
  readonly action: 'refresh' | 'rollback' | 'sync' | 'terminate';
  readonly state: OutcomeState;
  readonly app: Application;
  /** The outcome in words; it is printed after the name of the Application. */
  readonly message: string;
  /** The operation that was written. */
  readonly operation?: Operation | undefined;
  readonly operationState?: OperationState | undefined;
}

/** As of `kubectl wait`; a Ctrl-C is reported as a shell does. */
export const outcomeExitCodes: Readonly<Record<OutcomeState, number>> = {
  requested: 0,
  done: 0,
  failed: 1,
  'timed-out': 1,
  interrupted: 130,
};

/** Prints an outcome and returns its exit code. */
export function printOutcome(outcome: Outcome, format: string, output: CommandOutput): number {
  const { app, state, message, operationState } = outcome;
  const text = structured(format, outcomeJson(outcome));
  const exitCode = outcomeExitCodes[state];
  const line = `Application ${nameOf(app)}: ${message}`;
  if (text !== undefined) output.out(text);
  else {
    for (const row of resultRows(operationState)) output.out(row);
    const { sync, health } = app.status ?? {};
    if (exitCode === 0) output.out(paint(output, 'green', line));
    if (state === 'done' && sync !== undefined)
      output.out(`It is ${sync.status}${revisionText(sync)}, and ${health?.status ?? 'of unknown health'}`);
  }
  if (exitCode !== 0) output.err(`driftless: ${line}`);
  return exitCode;
}

function revisionText({
  revision,
  revisions,
}: {
  readonly revision?: string;
  readonly revisions?: readonly string[];
}): string {
  const all = (revisions ?? [revision ?? '']).filter((text) => text !== '').map((text) => text.slice(0, 7));
  return all.length === 0 ? '' : ` with ${all.join(', ')}`;
}

function outcomeJson({ action, state, app, message, operation, operationState }: Outcome): object {
  const { namespace, name } = app.metadata;
  const { sync, health, conditions } = app.status ?? {};
  return {
    namespace,
    name,
    action,
    state,
    message,
    ...defined({
      operation,
      operationState,
      sync: sync?.status,
      revision: sync?.revision,
      revisions: sync?.revisions,
      health: health?.status,
      conditions,
    }),
  };
}

/** The results of a sync, as a table. */
function resultRows(state: OperationState | undefined): readonly string[] {
  const results = resultsOf(state);
  if (results.length === 0) return [];
  const rows = results.map(({ group, kind, namespace, name, status, hookType, hookPhase, message }) => [
    group === '' ? kind : `${kind}.${group}`,
    namespace === '' ? name : `${namespace}/${name}`,
    hookType ?? '',
    status ?? hookPhase ?? '',
    outsideText('field', message ?? ''),
  ]);
  return [...table(['kind', 'name', 'hook', 'status', 'message'], rows), ''];
}

export function resultsOf(state: OperationState | undefined): readonly ResourceResult[] {
  const results: unknown = state?.syncResult?.resources ?? [];
  return Array.isArray(results)
    ? (results.filter((each) => isObject(each)) as unknown as readonly ResourceResult[])
    : [];
}

/** How long an operation took; empty if its times are unknown. */
export function tookText({ startedAt, finishedAt }: OperationState): string {
  const ms = Date.parse(finishedAt ?? '') - Date.parse(startedAt);
  return Number.isNaN(ms) ? '' : ` after ${formatGoDuration(ms)}`;
}
