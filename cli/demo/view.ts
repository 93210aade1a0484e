import type { AppSnapshot, ControllerSnapshot } from '#controller';
import type { DashboardSource, DashboardState, ReplicaRow } from '#dashboard';
import { splitAppKey } from '#model';
import { controllerNamespace } from './objects.ts';
import type { Replicas, ReplicaState } from './replicas.ts';

export interface Guide {
  readonly kubeconfig: string;
  readonly clusters: readonly { readonly name: string; readonly url: string }[];
  readonly repository: (name: string) => string;
}

/** What to try, as lines that can be pasted into a shell. */
export function hints(guide: Guide): string[] {
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
  readonly replicas: Pick<Replicas, 'states'>;
  /** Names are shown in place of addresses. */
  readonly clusters: readonly { readonly name: string; readonly url: string }[];
  readonly hints: readonly string[];
}

/** What `/debug/state` of a replica answers, as far as it is shown. */
type State = Partial<Pick<ControllerSnapshot, 'applications'>> & { readonly ownedClusters?: readonly string[] };

/** The dashboard's view of the demo: what the replicas say of themselves. An Application that none of them looks after is not shown. */
export function dashboardSource({ replicas, clusters, hints }: ViewDeps): DashboardSource {
  const names = new Map(clusters.map(({ name, url }) => [url, name]));
  return {
    state: async (): Promise<DashboardState> => {
      const asked = replicas.states().map(async (replica) => ({ replica, state: await stateOf(replica.port) }));
      const told = await Promise.all(asked);
      const applications = told.flatMap(({ state }) => state?.applications ?? []);
      return {
        applications: applications.map((app) => row(app, names)).sort((a, b) => (a.name < b.name ? -1 : 1)),
        replicas: told.map(({ replica, state }) => replicaRow(replica, state)),
        hints,
      };
    },
  };
}

function row(app: AppSnapshot, names: ReadonlyMap<string, string>): DashboardState['applications'][number] {
  const [condition] = app.conditions;
  return {
    name: splitAppKey(app.key).name,
    cluster: names.get(app.cluster) ?? app.cluster,
    sync: app.sync === '' ? 'Unknown' : app.sync,
    health: app.health === '' ? 'Unknown' : app.health,
    revision: app.revision,
    operation: app.operation,
    // A condition says more than the last operation.
    message: condition === undefined ? app.operationMessage : `${condition.type}: ${condition.message}`,
  };
}

function replicaRow({ name, pid, restarts }: ReplicaState, state: State | undefined): ReplicaRow {
  const alive = state === undefined ? 'starting' : 'running';
  return {
    name,
    state: pid === undefined ? 'stopped' : alive,
    clusters: [...(state?.ownedClusters ?? [])],
    restarts,
  };
}

/** Asks a replica; undefined while it does not answer. */
async function stateOf(port: number | undefined): Promise<State | undefined> {
  if (port === undefined) return undefined;
  try {
    return (await (await fetch(`http://127.0.0.1:${port}/debug/state`)).json()) as State;
  } catch {
    return undefined;
  }
}
