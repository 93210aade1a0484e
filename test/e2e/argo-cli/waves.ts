import { delayAnnotation, failAnnotation } from '#sim';
import { deployment, settings } from './manifests.ts';
import type { ListedApplication, Stage } from './stage.ts';
import { normalised } from './transcript.ts';

/** Longer than the pause between waves (2 s): the first wave is seen waiting. */
const rolloutMs = 6_000;

/** Annotations of the pods that slow a rollout down, or fail it after the progress deadline. */
interface Rollout {
  readonly pods: Readonly<Record<string, string>>;
  readonly deadlineSeconds: number;
}

const slow: Rollout = { pods: { [delayAnnotation]: String(rolloutMs) }, deadlineSeconds: 600 };
const failing: Rollout = { pods: { [failAnnotation]: 'ImagePullBackOff' }, deadlineSeconds: rolloutMs / 1000 };

function waveDeployment(name: string, wave: number, image: string, rollout: Rollout): string {
  const { pods, deadlineSeconds } = rollout;
  return deployment(name, 1, image)
    .replace(
      `metadata: { name: ${name} }`,
      `metadata: { name: ${name}, annotations: { argocd.argoproj.io/sync-wave: "${wave}" } }`,
    )
    .replace(
      `metadata: { labels: { app: ${name} } }`,
      `metadata: { labels: { app: ${name} }, annotations: ${JSON.stringify(pods)} }`,
    )
    .replace('  replicas: 1', `  replicas: 1\n  progressDeadlineSeconds: ${deadlineSeconds}`);
}

/** Two Deployments, one for each wave, and a ConfigMap beside the first. */
function manifests(image: string, first = slow): Record<string, string> {
  return {
    'app/web.yaml': waveDeployment('web', 0, image, first),
    'app/settings.yaml': settings('settings', 'blue'),
    'app/api.yaml': waveDeployment('api', 1, image, slow),
  };
}

/** Phase and message of the operation, and all fields of each result, sorted. */
function reportOf({ status }: ListedApplication): string {
  const { phase = '', message = '', syncResult } = status?.operationState ?? {};
  const rows = (syncResult?.resources ?? []).map((row) =>
    JSON.stringify(Object.fromEntries(Object.entries(row).sort())),
  );
  return normalised([`${phase}: ${message}`, ...rows.sort()].join('\n'));
}

/** The first wave was applied and is not healthy yet. */
function isFirstWaveWaiting({ status }: ListedApplication): boolean {
  const rows = status?.operationState?.syncResult?.resources ?? [];
  const web = rows.find(({ kind, name }) => kind === 'Deployment' && name === 'web');
  const started = rows.some(({ name }) => name === 'api');
  return status?.operationState?.phase === 'Running' && web?.hookPhase === 'Running' && !started;
}

/**
 * Syncs one commit, and records what the operation reports at its end and while the first wave
 * waits. The waiting report is the last one before the second wave: earlier ones also count
 * resources without health, which are done in the next pass.
 */
async function syncWaves(stage: Stage, title: string, commit: string): Promise<void> {
  await stage.world.argocd(['app', 'get', 'waves', '--refresh']);
  await stage.until('waves', ({ status }) => status?.sync?.revision === commit);
  await stage.say(`app sync --async, ${title}`, ['app', 'sync', 'waves', '--async', '--timeout', '90']);
  let waiting = '';
  const finished = await stage.until('waves', (app) => {
    if (app.status?.operationState?.syncResult?.revision !== commit) return false;
    if (isFirstWaveWaiting(app)) waiting = reportOf(app);
    return (app.operation ?? null) === null && app.status.operationState.finishedAt !== undefined;
  });
  stage.note(`${title}, first wave`, waiting);
  stage.note(`${title}, finished`, reportOf(finished));
}

/** Syncs of two waves with slow rollouts: created, updated, and with a rollout that fails. */
export async function slowWaves(stage: Stage): Promise<void> {
  const git = stage.repository('waves');
  const created = git.commit(manifests('nginx:1.27'));
  await stage.createApp('waves');
  await stage.compared('waves');
  await syncWaves(stage, 'waves created', created);
  await stage.good('waves');
  const updated = git.commit(manifests('nginx:1.28'));
  await syncWaves(stage, 'waves updated', updated);
  await stage.good('waves');
  const broken = git.commit(manifests('nginx:1.29', failing));
  await syncWaves(stage, 'waves degraded', broken);
  await stage.say('app delete waves', ['app', 'delete', 'waves', '--yes']);
  await stage.gone('waves');
}
