import { systemClock } from '#base';
import type { JsonObject } from '#base';
import { itemPaths } from './content.ts';
import type { ItemKind } from './content.ts';
import type { AppPlan, Edit, SyncPlan } from './plan.ts';
import { applicationsPath, argoNamespace } from './side.ts';
import type { ApplicationObject, WorldSide } from './side.ts';

const inCluster = 'https://kubernetes.default.svc';
const finalizer = 'resources-finalizer.argocd.argoproj.io';

/** An Application of the plan under its name in a play. */
export interface PlayedApp {
  readonly plan: AppPlan;
  readonly name: string;
  readonly namespace: string;
  readonly repository: string;
}

export function applicationOf({ plan, name, namespace, repository }: PlayedApp): JsonObject {
  const { automated, syncOptions, ignoreDifferences, retries } = plan;
  const syncPolicy = {
    ...(automated === undefined ? {} : { automated }),
    ...(syncOptions.length === 0 ? {} : { syncOptions }),
    retry: { limit: retries, backoff: { duration: '1s', factor: 1 } },
  };
  return {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Application',
    metadata: { name, namespace: argoNamespace, ...(plan.finalizer ? { finalizers: [finalizer] } : {}) },
    spec: {
      project: plan.project,
      source: { repoURL: repository, path: plan.name, targetRevision: 'main' },
      destination: { server: inCluster, namespace },
      syncPolicy,
      ...(ignoreDifferences === undefined ? {} : { ignoreDifferences }),
    },
  };
}

export function itemName({ name }: PlayedApp, item: number): string {
  return `${name}-i${item}`;
}

/** Requests a refresh as `argocd app get --refresh` does. */
export async function refresh({ api }: WorldSide, app: PlayedApp, isHard: boolean): Promise<void> {
  const time = new Date(systemClock.now()).toISOString();
  const annotations = {
    'argocd.argoproj.io/refresh': isHard ? 'hard' : 'normal',
    'argocd.argoproj.io/refresh-timestamp': time,
  };
  await api.patch(`${applicationsPath}/${app.name}`, { metadata: { annotations } });
}

/** Whether an operation may be requested, as Argo CD's API server decides. */
export function isOperable(state: ApplicationObject | undefined): state is ApplicationObject {
  return (
    state !== undefined &&
    (state.operation ?? undefined) === undefined &&
    state.metadata.deletionTimestamp === undefined
  );
}

/** Requests a sync with the members that Argo CD's API server writes. */
export async function sync({ api, applications }: WorldSide, app: PlayedApp, plan: SyncPlan): Promise<void> {
  const options = plan.syncOptions ?? applications.states.get(app.name)?.spec.syncPolicy?.syncOptions;
  const force = { force: plan.strategy === 'force' };
  await operate({ api }, app, {
    ...(plan.prune === undefined ? {} : { prune: plan.prune }),
    ...(plan.dryRun === undefined ? {} : { dryRun: plan.dryRun }),
    ...(plan.items === undefined ? {} : { resources: plan.items.map((item) => selected(app, item)) }),
    ...(options === undefined ? {} : { syncOptions: options }),
    ...(plan.strategy === undefined
      ? {}
      : { syncStrategy: plan.strategy === 'apply' ? { apply: { force: false } } : { hook: force } }),
  });
}

function selected(app: PlayedApp, item: number): JsonObject {
  const { kind } = app.plan.items[item] as { readonly kind: ItemKind };
  const [path] = itemPaths[kind];
  const group = path.startsWith('apis/') ? (path.split('/')[1] ?? '') : '';
  return { group, kind, name: itemName(app, item) };
}

async function operate({ api }: Pick<WorldSide, 'api'>, app: PlayedApp, request: object): Promise<void> {
  const operation = { initiatedBy: { username: 'somebody' }, sync: request };
  await api.patch(`${applicationsPath}/${app.name}`, { operation });
}

/** Requests a rollback to an entry of the history, `back` before the last one, if it exists. */
export async function rollback(
  { api, applications }: WorldSide,
  app: PlayedApp,
  { back, prune }: { readonly back: number; readonly prune: boolean },
): Promise<void> {
  const entry = applications.states.get(app.name)?.status?.history?.at(-1 - back);
  if (entry?.revision === undefined) return;
  const { revision, source } = entry;
  await operate({ api }, app, {
    revision,
    prune,
    syncStrategy: { apply: {} },
    ...(source === undefined ? {} : { source }),
  });
}

/** Terminates a running operation as Argo CD's API server does. */
export async function terminate({ api }: WorldSide, app: PlayedApp): Promise<void> {
  await api.patch(`${applicationsPath}/${app.name}`, { status: { operationState: { phase: 'Terminating' } } });
}

export async function deleteApplication(
  { api }: WorldSide,
  app: PlayedApp,
  cascade: 'foreground' | 'background' | 'none',
): Promise<void> {
  const path = `${applicationsPath}/${app.name}`;
  const own = cascade === 'background' ? `${finalizer}/background` : finalizer;
  await api.patch(path, { metadata: { finalizers: cascade === 'none' ? null : [own] } });
  await api.delete(path);
}

const fields: Readonly<Record<ItemKind, JsonObject>> = {
  ConfigMap: { data: { color: 'green' } },
  Secret: { data: { token: 'Z3JlZW4=' } },
  Deployment: { spec: { replicas: 3 } },
  Service: { spec: { selector: { app: 'other' } } },
  ServiceAccount: { automountServiceAccountToken: true },
  Role: { rules: [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }] },
  StatefulSet: { spec: { replicas: 3 } },
  PersistentVolumeClaim: { metadata: { labels: { team: 'other' } } },
  NetworkPolicy: { spec: { podSelector: { matchLabels: { app: 'other' } } } },
  CronJob: { spec: { schedule: '0 3 1 1 *' } },
  Job: { metadata: { labels: { team: 'other' } } },
  Ingress: { spec: { ingressClassName: 'other' } },
  PodDisruptionBudget: { spec: { maxUnavailable: 3 } },
  Widget: { spec: { color: 'red', size: 7 } },
};

const patches: Readonly<Record<Exclude<Edit, 'delete'>, (kind: ItemKind) => JsonObject>> = {
  set: (kind) => fields[kind],
  label: () => ({ metadata: { labels: { edited: 'yes' } } }),
  extra: (kind) => extras[kind] ?? { metadata: { annotations: { edited: 'yes' } } },
  keep: () => ({ metadata: { annotations: { 'argocd.argoproj.io/sync-options': 'Prune=false' } } }),
  'last-applied': () => ({ metadata: { annotations: { 'kubectl.kubernetes.io/last-applied-configuration': null } } }),
};

/** Members that no manifest has. */
const extras: Partial<Record<ItemKind, JsonObject>> = {
  ConfigMap: { data: { edited: 'yes' } },
  Secret: { data: { edited: 'eWVz' } },
  Deployment: { spec: { template: { metadata: { annotations: { edited: 'yes' } } } } },
  Service: { spec: { selector: { edited: 'yes' } } },
  StatefulSet: { spec: { template: { metadata: { annotations: { edited: 'yes' } } } } },
};

/** Changes or deletes a live object by hand. Without the object nothing happens. */
export async function edit({ api }: WorldSide, app: PlayedApp, item: number, how: Edit): Promise<void> {
  const { kind } = app.plan.items[item] as { readonly kind: ItemKind };
  const [group, resource] = itemPaths[kind];
  const path = `/${group}/namespaces/${app.namespace}/${resource}/${itemName(app, item)}`;
  if (how === 'delete') {
    await api.delete(path, { propagationPolicy: 'Background' });
    return;
  }
  const body = patches[how](kind);
  const contentType = 'application/merge-patch+json';
  const answer = await api.exchange({ method: 'PATCH', path: `${path}?fieldManager=editor`, body, contentType });
  if (answer.status >= 500) throw new Error(`PATCH ${path}: ${answer.status} ${answer.text}`);
}
