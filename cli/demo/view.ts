import type { DashboardSource, DashboardState, ReplicaRow } from '#dashboard';
import type { Application, ApplicationStatus, KubeObject } from '#model';
import { controllerNamespace } from './objects.ts';
import { demoApplications } from './progress.ts';
import type { Replicas, ReplicaState } from './replicas.ts';

export interface Guide {
  readonly kubeconfig: string;
  readonly clusters: readonly { readonly name: string }[];
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
  readonly hub: { list(group: string, kind: string, namespace?: string): readonly KubeObject[] };
  readonly replicas: Pick<Replicas, 'states'>;
  readonly hints: readonly string[];
}

/** The dashboard's view of the demo: Applications from the hub, ownership from the replicas themselves. */
export function dashboardSource(deps: ViewDeps): DashboardSource {
  return {
    state: async (): Promise<DashboardState> => ({
      applications: demoApplications(deps.hub).map(row),
      replicas: await Promise.all(deps.replicas.states().map(replicaRow)),
      hints: deps.hints,
    }),
  };
}

function row(app: Application): DashboardState['applications'][number] {
  const { metadata, spec, status = {} } = app;
  return {
    name: metadata.name ?? '',
    cluster: spec.destination.name ?? spec.destination.server ?? '',
    sync: status.sync?.status ?? 'Unknown',
    health: status.health?.status ?? 'Unknown',
    revision: status.sync?.revision ?? '',
    operation: status.operationState?.phase ?? '',
    message: messageFor(status),
  };
}

/** A condition says more than the last operation. */
function messageFor(status: ApplicationStatus): string {
  const condition = status.conditions?.[0];
  return condition === undefined ? (status.operationState?.message ?? '') : `${condition.type}: ${condition.message}`;
}

async function replicaRow(replica: ReplicaState): Promise<ReplicaRow> {
  const clusters = await ownedClusters(replica.port);
  const alive = clusters === undefined ? 'starting' : 'running';
  return {
    name: replica.name,
    state: replica.pid === undefined ? 'stopped' : alive,
    clusters: clusters ?? [],
    restarts: replica.restarts,
  };
}

/** Asks a replica what it owns; undefined while it does not answer. */
async function ownedClusters(port: number | undefined): Promise<string[] | undefined> {
  if (port === undefined) return undefined;
  try {
    const answer = await fetch(`http://127.0.0.1:${port}/debug/state`);
    const state = (await answer.json()) as { readonly ownedClusters?: readonly string[] };
    return [...(state.ownedClusters ?? [])];
  } catch {
    return undefined;
  }
}
