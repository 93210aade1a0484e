import { annotations, asApplication } from '#model';
import type { Application } from '#model';
import { isSettled, reasonOf } from '../process/application-state.ts';
import { agentNamespace } from './hub-objects.ts';
import type { HubStore } from './hub-store.ts';

/** The state of the folder, as the agent reports it. */
export interface AgentState {
  readonly sync: string;
  readonly health: string;
  readonly revision: string;
  /** The last operation: `Succeeded: successfully synced (all tasks run)`. */
  readonly operation: string;
  /** Conditions and what keeps the folder from being Synced and Healthy. */
  readonly problems: readonly string[];
}

export function agentState(app: Application): AgentState {
  const { status } = app;
  const { status: sync = 'Unknown', revision = '' } = status?.sync ?? {};
  const operation = status?.operationState;
  return {
    sync,
    health: status?.health?.status ?? 'Unknown',
    revision,
    operation: operation === undefined ? '' : `${operation.phase}: ${operation.message ?? ''}`,
    problems: [
      ...(status?.conditions ?? []).map(({ type, message }) => `${type}: ${message}`),
      ...(status?.resources ?? []).flatMap(resourceProblem),
    ],
  };
}

type StatusResource = NonNullable<NonNullable<Application['status']>['resources']>[number];

function resourceProblem({ kind, namespace = '', name, status, health }: StatusResource): readonly string[] {
  const words = [status, health?.status].filter((word) => word !== undefined && !['Synced', 'Healthy'].includes(word));
  return words.length === 0 ? [] : [`${kind} ${namespace === '' ? name : `${namespace}/${name}`}: ${words.join(', ')}`];
}

const maxProblems = 5;
const shortRevision = 8;

/** One line for a person. */
export function stateLine({ sync, health, revision, operation, problems }: AgentState): string {
  const shown = problems.slice(0, maxProblems);
  const more = problems.length > maxProblems ? [`and ${problems.length - maxProblems} more`] : [];
  const at = revision === '' ? '' : ` at ${revision.slice(0, shortRevision)}`;
  const parts = [`${sync}, ${health}${at}`, ...(operation === '' ? [] : [operation]), ...shown, ...more];
  return parts.join('; ');
}

/** Calls `report` for each new state of an Application. Returns the unsubscribe function. */
export function followState(store: HubStore, name: string, report: (state: AgentState) => void): () => void {
  let last = '';
  return store.subscribe(({ object }) => {
    if (object.kind !== 'Application' || object.metadata.name !== name) return;
    const app = asApplication(object);
    if (app.status === undefined) return;
    const state = agentState(app);
    const text = JSON.stringify(state);
    if (text !== last) report(state);
    last = text;
  });
}

/** Resolves when the Application is Synced and Healthy, or with the reason when `signal` aborts. */
export async function settledOrReason(store: HubStore, name: string, signal: AbortSignal): Promise<string | undefined> {
  const current = (): Application | undefined => {
    const found = store.get('argoproj.io', 'Application', agentNamespace, name);
    return found === undefined ? undefined : asApplication(found);
  };
  const isDone = (): boolean => {
    const app = current();
    return app !== undefined && isSettled(app);
  };
  let unsubscribe = (): void => undefined;
  const settled = new Promise<void>((resolve) => {
    unsubscribe = store.subscribe(() => {
      if (isDone()) resolve();
    });
    signal.addEventListener('abort', () => resolve(), { once: true });
    if (isDone() || signal.aborted) resolve();
  });
  await settled;
  unsubscribe();
  if (isDone()) return undefined;
  const app = current();
  return app === undefined ? 'nothing was compared yet' : reasonOf(app);
}

/** Has the sources of an Application read now, as the annotation of a user does. */
export function requestRefresh(store: HubStore, name: string): void {
  const found = store.get('argoproj.io', 'Application', agentNamespace, name);
  if (found === undefined) return;
  const marked = { ...found.metadata.annotations, [annotations.refresh]: 'normal' };
  store.update({ ...found, metadata: { ...found.metadata, annotations: marked } });
}
