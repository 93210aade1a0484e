import { omit } from '#base';
import type { Clock } from '#base';
import type { SimCluster, SimStore } from '#sim';
import { controllerNamespace } from './objects.ts';
import type { ReplicaProcesses } from './replicas.ts';

export interface ShowDeps {
  readonly hub: SimStore;
  /** The clusters beside the hub. */
  readonly clusters: readonly Pick<SimCluster, 'name' | 'store'>[];
  readonly replicas: Pick<ReplicaProcesses, 'rest' | 'states'>;
  /** Commits and pushes a change of the guestbook. */
  readonly push: (replicas: number) => Promise<void>;
  readonly clock: Pick<Clock, 'sleep'>;
  /** Announces each step. */
  readonly say: (text: string) => void;
}

/** Long enough to see a step, short enough that all are seen within a minute. */
const stepMs = 8000;
/** Longer than a lease of the demo (16.5 s): others stand in for the replica that is away. */
const restMs = 28_000;
type ShowStep = (deps: ShowDeps, round: number) => unknown;

const deployment = ['apps', 'Deployment', 'guestbook', 'guestbook-ui'] as const;

/**
 * Makes drift, changes of Git and hand-overs until aborted, so that the dashboard has something to
 * show.
 */
export async function runShow(deps: ShowDeps, signal: AbortSignal): Promise<void> {
  const steps: readonly ShowStep[] = [scale, edit, push, rest, heal];
  for (let round = 0; ; round += 1) {
    for (const step of steps) {
      try {
        await Promise.resolve(step(deps, round));
      } catch (error) {
        deps.say(`a step failed: ${error instanceof Error ? error.message : 'unknown'}`);
      }
      await deps.clock.sleep(stepMs, signal).catch(() => undefined);
      if (signal.aborted) return;
    }
  }
}

/** Scales a Deployment, as a user would; self-heal repairs it. */
function scale({ clusters, say }: ShowDeps, round: number): void {
  const cluster = clusters[round % clusters.length];
  if (cluster === undefined) return;
  say(`kubectl scales guestbook-ui on ${cluster.name} to 7: drift, which is repaired`);
  change(cluster.store, deployment, 'kubectl-scale', (spec) => ({ ...spec, replicas: 7 }));
}

/** Automated sync is switched off, and somebody edits the Deployment: it stays OutOfSync. */
function edit({ hub, clusters, say }: ShowDeps, round: number): void {
  const cluster = clusters[(round + 1) % clusters.length];
  if (cluster === undefined) return;
  say(`guestbook-${cluster.name} loses its automated sync, and kubectl-edit changes it: OutOfSync`);
  const app = ['argoproj.io', 'Application', controllerNamespace, `guestbook-${cluster.name}`] as const;
  change(hub, app, 'demo', (spec) => omit(spec, 'syncPolicy'));
  change(cluster.store, deployment, 'kubectl-edit', (spec) => ({ ...spec, replicas: 1 }));
}

async function push({ hub, clusters, push: send, say }: ShowDeps, round: number): Promise<void> {
  const replicas = 2 + (round % 3);
  say(`a push to the guestbook: ${replicas} replicas`);
  await send(replicas);
  for (const { name } of clusters) refresh(hub, `guestbook-${name}`);
}

/** One replica leaves, and comes back: its clusters are handed over twice. */
function rest({ replicas, say }: ShowDeps, round: number): void {
  const states = replicas.states();
  const index = round % states.length;
  say(`${states[index]?.name ?? ''} leaves for ${restMs / 1000} s: its clusters are handed over`);
  replicas.rest(index, restMs);
}

/** Automated sync is switched on again. */
function heal({ hub, clusters, say }: ShowDeps, round: number): void {
  const cluster = clusters[(round + 1) % clusters.length];
  if (cluster === undefined) return;
  say(`guestbook-${cluster.name} gets its automated sync back`);
  const app = ['argoproj.io', 'Application', controllerNamespace, `guestbook-${cluster.name}`] as const;
  const syncPolicy = { automated: { prune: true, selfHeal: true }, syncOptions: ['CreateNamespace=true'] };
  change(hub, app, 'demo', (spec) => ({ ...spec, syncPolicy }));
}

type ObjectPath = readonly [group: string, kind: string, namespace: string, name: string];
type Spec = Readonly<Record<string, unknown>>;

/** Changes the spec of an object, if it exists. */
function change(store: SimStore, path: ObjectPath, manager: string, edited: (spec: Spec) => Spec): void {
  const object = store.get(...path);
  if (object === undefined) return;
  const spec = edited((object['spec'] ?? {}) as Spec);
  store.update({ ...object, spec }, { manager });
}

function refresh(store: SimStore, name: string): void {
  const found = store.get('argoproj.io', 'Application', controllerNamespace, name);
  if (found === undefined) return;
  const annotations = { ...found.metadata.annotations, 'argocd.argoproj.io/refresh': 'normal' };
  store.update({ ...found, metadata: { ...found.metadata, annotations } }, { manager: 'demo' });
}
