import { newAbortController, systemClock, withDeadline } from '#base';
import type { AppSnapshot, ControllerSnapshot } from '#controller';
import type { DashboardSource, DashboardState, ReplicaRow } from '#dashboard';
import { splitAppKey } from '#model';
import { askDebugSocket } from '#telemetry';
import { controllerNamespace } from './objects.ts';
import type { ReplicaProcesses, ReplicaState } from './replicas.ts';

export interface DemoGuide {
  readonly kubeconfig: string;
  readonly clusters: readonly { readonly name: string; readonly url: string }[];
  readonly repository: (name: string) => string;
}

/** Suggestions as lines to paste into a shell. */
export function hints(guide: DemoGuide): string[] {
  const cluster = guide.clusters[0]?.name ?? 'sim-0';
  const app = `guestbook-${cluster}`;
  return [
    `  export KUBECONFIG=${guide.kubeconfig}`,
    `  kubectl get applications -A`,
    `  # make drift, and see it healed`,
    `  kubectl --context ${cluster} -n guestbook delete deployment --all`,
    `  kubectl --context ${cluster} -n guestbook get deployments`,
    `  # change Git, then ask for a refresh`,
    `  git clone ${guide.repository('guestbook')}`,
    `  kubectl -n ${controllerNamespace} annotate application ${app} argocd.argoproj.io/refresh=normal --overwrite`,
    `  # delete an Application and all that it brought`,
    `  kubectl -n ${controllerNamespace} delete application ${app}`,
  ];
}

export interface ViewDeps {
  readonly replicas: Pick<ReplicaProcesses, 'states'>;
  /** Names to show instead of URLs. */
  readonly clusters: readonly { readonly name: string; readonly url: string }[];
  readonly hints: readonly string[];
}

const replicaTimeoutMs = 5000;

/** The parts of `/debug/state` that the dashboard shows. */
type ReplicaDebugState = Partial<Pick<ControllerSnapshot, 'applications'>> & {
  readonly ownedClusters?: readonly string[];
};

/**
 * The dashboard's view of the demo, from the debug state of each replica. An Application without an
 * owner is not shown.
 */
export function dashboardSource({ replicas, clusters, hints }: ViewDeps): DashboardSource {
  const names = new Map(clusters.map(({ name, url }) => [url, name]));
  return {
    state: async (): Promise<DashboardState> => {
      const asked = replicas.states().map(async (replica) => ({ replica, state: await stateOf(replica.socket) }));
      const replicaStates = await Promise.all(asked);
      const applications = replicaStates.flatMap(({ state }) => state?.applications ?? []);
      return {
        applications: applications.map((app) => applicationRow(app, names)).sort((a, b) => (a.name < b.name ? -1 : 1)),
        replicas: replicaStates.map(({ replica, state }) => replicaRow(replica, state)),
        hints,
      };
    },
  };
}

function applicationRow(app: AppSnapshot, names: ReadonlyMap<string, string>): DashboardState['applications'][number] {
  const [condition] = app.conditions;
  return {
    name: splitAppKey(app.key).name,
    cluster: names.get(app.cluster) ?? app.cluster,
    sync: app.sync === '' ? 'Unknown' : app.sync,
    health: app.health === '' ? 'Unknown' : app.health,
    revision: app.revision,
    operation: app.operation,
    // A condition is more informative than the last operation.
    message: condition === undefined ? app.operationMessage : `${condition.type}: ${condition.message}`,
  };
}

function replicaRow({ name, pid, restarts }: ReplicaState, state: ReplicaDebugState | undefined): ReplicaRow {
  const alive = state === undefined ? 'starting' : 'running';
  return {
    name,
    state: pid === undefined ? 'stopped' : alive,
    clusters: [...(state?.ownedClusters ?? [])],
    restarts,
  };
}

/** Reads the debug state of a replica; undefined while it does not answer. */
async function stateOf(socket: string | undefined): Promise<ReplicaDebugState | undefined> {
  if (socket === undefined) return undefined;
  const deadline = { clock: systemClock, limitMs: replicaTimeoutMs, what: `asking the replica at ${socket}` };
  try {
    const ask = (signal: AbortSignal): Promise<string> => askDebugSocket(socket, signal);
    return JSON.parse(await withDeadline(newAbortController().signal, deadline, ask)) as ReplicaDebugState;
  } catch {
    return undefined;
  }
}
