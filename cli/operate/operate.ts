import { systemClock, UsageError } from '#base';
import type { Json } from '#base';
import { annotations, hydratorOf, isReconcileSkipped } from '#model';
import type { Application, Operation } from '#model';
import { windowHold } from '#policy';
import { applicationOf } from '../explain/explain.ts';
import type { CommandContext } from '../process/command.ts';
import { nameOf, OperateError } from './errors.ts';
import { withHub } from './hub.ts';
import type { ApplicationHub, ApplicationName } from './hub.ts';
import type { OperateConfig } from './options.ts';
import { terminationOf } from './operation.ts';
import type { Outcome } from './outcome.ts';
import { printOutcome, resultsOf, tookText } from './outcome.ts';
import { phaseText, waitForOperation, waitForRefresh, waitForTermination } from './wait.ts';
import type { WaitEnd, WaitOptions } from './wait.ts';

/** A request of a user about one Application. */
export interface OperateRun {
  readonly config: OperateConfig;
  readonly context: CommandContext;
  readonly usage: string;
  readonly positionals: readonly string[];
}

type Act = (hub: ApplicationHub, where: ApplicationName, waiting: WaitOptions) => Promise<Outcome>;

/** Connects to the hub, acts on the named Application and prints the outcome. */
async function operate({ config, context, usage, positionals }: OperateRun, act: Act): Promise<number> {
  const { env, output, signal } = context;
  const [name = '', ...more] = positionals;
  if (name === '' || more.length > 0) throw new UsageError(usage);
  const where = applicationOf(name, config.namespace, config.controllerNamespace);
  const outcome = await withHub(config, env, signal, (hub) =>
    act(hub, where, { hub, output, clock: systemClock, timeoutMs: config.timeout, signal }),
  );
  return printOutcome(outcome, config.output, output);
}

/** Asks for a comparison with what Git says now. */
export function refreshApplication(run: OperateRun, isHard: boolean): Promise<number> {
  return operate(run, async (hub, where, waiting) => {
    const now = await hub.get(where);
    checkReconciled(now);
    const request = refreshRequest(now, isHard ? 'hard' : 'normal');
    const app = await hub.patch(where, { metadata: { annotations: request } });
    if (app === undefined) throw new OperateError(`Application ${where.namespace}/${where.name} was deleted`);
    const action = 'refresh';
    if (!run.config.wait) return { action, state: 'requested', app, message: 'refresh requested' };
    const end = await waitForRefresh(app, waiting);
    if (end.end !== 'done') return { action, app, ...(await unfinished(end, hub, app, 'refresh')) };
    const fault = end.app.status?.conditions?.find(({ type }) => faults.includes(type));
    return fault === undefined
      ? { action, state: 'done', app: end.app, message: 'compared' }
      : { action, state: 'failed', app: end.app, message: `not compared: ${fault.type}: ${fault.message}` };
  });
}

/** The annotations of a request; a source hydrator also looks at its dry source. */
function refreshRequest({ spec }: Application, type: 'hard' | 'normal'): Readonly<Record<string, string>> {
  const time = new Date(systemClock.now()).toISOString();
  const refresh = { [annotations.refresh]: type, [annotations.refreshTimestamp]: time };
  if (hydratorOf(spec) === undefined) return refresh;
  return { ...refresh, [annotations.hydrate]: 'normal', [annotations.hydrateTimestamp]: time };
}

/** Conditions of an Application that could not be compared. */
const faults: readonly string[] = ['InvalidSpecError', 'ComparisonError', 'UnknownError'];

/** Writes the operation that `decide` makes from the Application. */
export function startOperation(
  run: OperateRun,
  action: 'rollback' | 'sync',
  decide: (app: Application, username: string) => Operation,
): Promise<number> {
  return operate(run, async (hub, where, waiting) => {
    const username = await hub.username();
    const { app, value: operation } = await writeDecision(hub, where, async (now) => {
      checkReconciled(now);
      const decided = decide(now, username);
      await checkWindows(hub, now);
      const clear = now.status?.operationState === undefined ? {} : { status: { operationState: null } };
      return { value: decided, patch: { operation: decided as unknown as Json, ...clear } };
    });
    const result = { action, app, operation };
    if (!run.config.wait) return { ...result, state: 'requested', message: `${action} requested` };
    const end = await waitForOperation(app, waiting);
    if (end.end !== 'done' || end.state === undefined)
      return { ...result, ...(await unfinished(end, hub, app, action)) };
    return { ...result, ...finished(end.app, end.state, operation), app: end.app, operationState: end.state };
  });
}

/** Ends the operation in progress; one that no controller has begun is removed. */
export function terminateOperation(run: OperateRun): Promise<number> {
  return operate(run, async (hub, where, waiting) => {
    const { app, value } = await writeDecision(hub, where, (now) => {
      const { do: what } = terminationOf(now);
      const patch: Readonly<Record<string, Json>> =
        what === 'withdraw' ? { operation: null } : { status: { operationState: { phase: 'Terminating' } } };
      return Promise.resolve({ value: what, patch });
    });
    const action = 'terminate';
    if (value === 'withdraw')
      return { action, state: 'done', app, message: 'the operation was removed; no controller had begun it' };
    if (!run.config.wait) return { action, state: 'requested', app, message: 'the operation is asked to end' };
    const end = await waitForTermination(app, waiting);
    if (end.end !== 'done') return { action, app, ...(await unfinished(end, hub, app, 'termination')) };
    const message =
      end.state === undefined ? 'the operation has ended' : `the operation has ended: ${phaseText(end.state)}`;
    return { action, state: 'done', app: end.app, message, operationState: end.state };
  });
}

const maxAttempts = 20;

/**
 * Decides on the current Application and writes the decision, unless it has changed meanwhile: then
 * it is read and decided again. Another's operation is never overwritten.
 */
async function writeDecision<T>(
  hub: ApplicationHub,
  where: ApplicationName,
  decide: (app: Application) => Promise<{ readonly value: T; readonly patch: Readonly<Record<string, Json>> }>,
): Promise<{ readonly app: Application; readonly value: T }> {
  for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
    const now = await hub.get(where);
    const { value, patch } = await decide(now);
    const app = await hub.patch(where, patch, now.metadata.resourceVersion ?? '');
    if (app !== undefined) return { app, value };
  }
  throw new OperateError(
    `Application ${where.namespace}/${where.name} changed during each of ${maxAttempts} attempts to write to it: try again`,
  );
}

/** @throws OperateError if the controller leaves the Application alone: it would never answer */
function checkReconciled(app: Application): void {
  if (!isReconcileSkipped(app.metadata.annotations)) return;
  throw new OperateError(
    `Application ${nameOf(app)} is not reconciled: remove its annotation ${annotations.skipReconcile} first`,
  );
}

/** @throws OperateError if a sync window of the project forbids a sync by a user */
async function checkWindows(hub: ApplicationHub, app: Application): Promise<void> {
  const project = await hub.project(app);
  const { destination, project: name = 'default' } = app.spec;
  const subject = { name: app.metadata.name ?? '', destination };
  const hold = windowHold(project?.syncWindows, subject, { manual: true }, systemClock.now());
  if (hold === undefined) return;
  const until = hold.until === undefined ? '' : `, until ${new Date(hold.until).toISOString()}`;
  throw new OperateError(
    `cannot sync Application ${nameOf(app)}: blocked by a sync window of project ${name}: ${hold.error ?? hold.windows.join(', ')}${until}`,
  );
}

function finished(
  app: Application,
  state: NonNullable<Extract<WaitEnd, { end: 'done' }>['state']>,
  { sync }: Operation,
): Pick<Outcome, 'state' | 'message'> {
  const what = sync?.dryRun === true ? 'dry run' : 'operation';
  if (state.phase !== 'Succeeded') return { state: 'failed', message: `${what} ${phaseText(state)}` };
  const left = resultsOf(state).filter(({ status }) => status === 'PruneSkipped').length;
  const isPartial = (sync?.resources?.length ?? 0) > 0;
  if (left > 0 && sync?.dryRun !== true && !isPartial && app.status?.sync?.status !== 'Synced')
    return {
      state: 'failed',
      message: `operation Succeeded, but ${left} ${left === 1 ? 'resource requires' : 'resources require'} pruning: driftless sync ${nameOf(app)} --prune`,
    };
  return { state: 'done', message: `${what} ${state.phase}${tookText(state)}` };
}

/** The outcome of a wait that did not see the end. */
async function unfinished(
  end: WaitEnd,
  hub: ApplicationHub,
  app: Application,
  what: string,
): Promise<Pick<Outcome, 'state' | 'message'>> {
  const name = nameOf(app);
  switch (end.end) {
    case 'deleted':
      return { state: 'failed', message: `it was deleted during the ${what}` };
    case 'lost':
      return { state: 'failed', message: `the ${what} is not known to have ended well: ${end.why}` };
    case 'interrupted':
      return {
        state: 'interrupted',
        message: `interrupted; the ${what} goes on${what === 'sync' || what === 'rollback' ? `: driftless terminate ${name} ends it` : ''}`,
      };
    case 'timed-out': {
      const owners = await hub.owners(app).catch(() => []);
      const owner = owners.length === 0 ? '' : `; its cluster is owned by ${owners.join(', ')}`;
      const state = end.app.status?.operationState;
      // The operation of before says nothing about a refresh.
      const isUnanswered = state === undefined || what === 'refresh';
      const progress = isUnanswered ? 'no controller has answered' : phaseText(state);
      return {
        state: 'timed-out',
        message: `timed out waiting for the ${what}: ${progress}${owner}; driftless explain ${name} shows what it waits for`,
      };
    }
    case 'done':
      return { state: 'done', message: `the ${what} has ended` };
  }
}
