import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { aborted, systemClock } from '#base';
import { startDashboard } from '#dashboard';
import type { Application } from '#model';
import type { SimCluster } from '#sim';
import { describe, readArgs } from '../args.ts';
import type { CommandContext } from '../command.ts';
import { startFleet, writeKubeconfig } from '../fleet.ts';
import { paint } from '../output.ts';
import type { Output } from '../output.ts';
import { packageRoot } from '../root.ts';
import { controllerNamespace, hubObjects } from './objects.ts';
import { count, demoApplications, isSettled, reasonOf } from './progress.ts';
import { Replicas } from './replicas.ts';
import { makeRepositories } from './repositories.ts';
import { demoTools } from './tools.ts';
import { dashboardSource, hints } from './view.ts';
import type { Guide } from './view.ts';
import { help } from '../common-options.ts';

const options = {
  replicas: {
    flag: 'replicas',
    kind: 'int',
    default: 3,
    min: 1,
    max: 50,
    help: 'Controller replicas, each a process.',
  },
  clusters: {
    flag: 'clusters',
    kind: 'int',
    default: 3,
    min: 1,
    max: 100,
    help: 'Simulated clusters besides the hub.',
  },
  apps: { flag: 'apps', kind: 'int', default: 0, min: 0, max: 5000, help: 'Small Applications besides the samples.' },
  port: { flag: 'port', kind: 'int', default: 8080, min: 0, max: 65_535, help: 'Port of the dashboard; 0 takes any.' },
  once: { flag: 'once', kind: 'bool', default: false, help: 'End as soon as every Application is Synced and Healthy.' },
  timeout: { flag: 'timeout', kind: 'duration', default: 120_000, min: 1, help: 'How long that may take.' },
  output: {
    flag: 'output',
    short: 'o',
    kind: 'string',
    default: '',
    choices: ['', 'json'],
    help: 'json: the last line of stdout is an object.',
  },
  help,
} as const;

const lookEveryMs = 100;

/**
 * `driftless demo`: a simulated hub and clusters, real Git repositories and N replicas on this machine. With `--once` the exit code says whether
 * everything became Synced and Healthy in time.
 */
export async function demo({ argv, env, output, signal }: CommandContext): Promise<number> {
  const { config } = readArgs(options, argv, env);
  if (config.help) {
    output.out(`usage: driftless demo [FLAGS]\n\n${describe(options)}`);
    return 0;
  }
  const stage = new Stage();
  try {
    return await play(config, { output, signal, stage });
  } finally {
    await stage.clear();
  }
}

type Config = ReturnType<typeof readArgs<typeof options>>['config'];

/** Remembers how to undo what was set up, and undoes it in reverse order, whatever fails on the way. */
class Stage {
  readonly #undo: (() => unknown)[] = [];

  onClear(undo: () => unknown): void {
    this.#undo.push(undo);
  }

  async clear(): Promise<void> {
    for (const undo of this.#undo.splice(0).reverse()) {
      try {
        await undo();
      } catch {
        // The next thing must be cleared all the same.
      }
    }
  }
}

interface Run {
  readonly output: Output;
  readonly signal: AbortSignal;
  readonly stage: Stage;
}

interface Scene {
  readonly hub: SimCluster;
  readonly replicas: Replicas;
  readonly guide: Guide;
}

async function play(config: Config, run: Run): Promise<number> {
  const started = systemClock.monotonic();
  const scene = await setUp(config, run);
  if (!config.once) await openDashboard(config, run, scene);
  scene.replicas.start();
  run.stage.onClear(() => scene.replicas.stop());
  const settled = await waitUntilSettled(scene.hub, config.timeout, run);
  const elapsedMs = Math.round(systemClock.monotonic() - started);
  const apps = demoApplications(scene.hub.store);
  const counts = { ...count(apps), clusters: config.clusters, replicas: config.replicas, elapsedMs };
  if (!settled && !run.signal.aborted) explain(apps, config, run.output);
  if (settled && !(config.once && config.output === 'json')) run.output.out(summary(run.output, counts));
  if (!config.once && !run.signal.aborted) invite(scene, run.output);
  if (config.output === 'json') run.output.out(JSON.stringify(counts));
  if (config.once) return settled ? 0 : 1;
  await aborted(run.signal);
  run.output.err('stopping');
  return 0;
}

/** Repositories, clusters and what the hub holds; each is undone when the stage is cleared. */
async function setUp(config: Config, { output, stage }: Run): Promise<Scene> {
  const folder = mkdtempSync(join(tmpdir(), 'driftless-demo-'));
  stage.onClear(() => rmSync(folder, { recursive: true, force: true }));
  output.progress('making sample repositories and simulated clusters');
  const repositories = await makeRepositories(folder, join(packageRoot(), 'examples'), config.apps);
  stage.onClear(() => repositories.close());
  const names = ['hub', ...Array.from({ length: config.clusters }, (_, i) => `sim-${i}`)];
  const fleet = await startFleet({ names, port: 0, workloadDelayMs: 50 });
  stage.onClear(() => fleet.close());
  const kubeconfig = join(folder, 'kubeconfig');
  writeKubeconfig(kubeconfig, fleet.kubeconfig);
  const [hub, ...clusters] = fleet.clusters as readonly [SimCluster, ...SimCluster[]];
  const repository = (name: string): string => repositories.url(name);
  const tools = demoTools(process.env);
  for (const tool of tools.missing)
    output.err(`${tool} is not on PATH (npm run e2e:setup builds it): its sample is left out`);
  const plan = {
    clusters: clusters.map(({ name, url }) => ({ name, url })),
    repository,
    fleetSize: config.apps,
    toolSamples: tools.samples,
  };
  for (const object of hubObjects(plan)) hub.store.create(object, 'driftless-demo');
  const replicas = new Replicas({
    count: config.replicas,
    kubeconfig,
    context: 'hub',
    namespace: controllerNamespace,
    path: tools.path,
    folder,
    clock: systemClock,
    onExit: (name, how) => output.err(`${name} ended (${how}) and is started again; its log is in ${folder}`),
  });
  return { hub, replicas, guide: { kubeconfig, clusters: plan.clusters, repository } };
}

async function openDashboard(config: Config, { output, stage }: Run, { replicas, guide }: Scene): Promise<void> {
  const source = dashboardSource({ replicas, clusters: guide.clusters, hints: hints(guide) });
  const assets = join(packageRoot(), 'dashboard', 'public');
  const dashboard = await startDashboard({ host: '127.0.0.1', port: config.port, clock: systemClock, source, assets });
  stage.onClear(() => dashboard.close());
  output.err(`dashboard: ${dashboard.url}`);
}

function explain(apps: readonly Application[], config: Config, output: Output): void {
  output.err(`not everything is Synced and Healthy after ${config.timeout / 1000} s:`);
  for (const app of apps) if (!isSettled(app)) output.err(`  ${reasonOf(app)}`);
}

/** Where to look and what to try. */
function invite({ replicas, guide }: Scene, output: Output): void {
  for (const line of ['', ...hints(guide), '']) output.out(line);
  for (const { name, pid, log } of replicas.states()) output.out(`  ${name}   pid ${pid ?? 0}   log ${log}`);
  output.out('\nCtrl-C ends everything.');
}

function summary(
  output: Output,
  counts: { applications: number; clusters: number; replicas: number; elapsedMs: number },
): string {
  const what = `${counts.applications} Applications on ${counts.clusters} clusters are Synced and Healthy`;
  return `${paint(output, 'green', what)}, kept by ${counts.replicas} replicas, after ${(counts.elapsedMs / 1000).toFixed(1)} s`;
}

/** True when every Application is settled; false at the timeout or when asked to stop. */
async function waitUntilSettled(hub: SimCluster, timeoutMs: number, { output, signal }: Run): Promise<boolean> {
  const end = systemClock.monotonic() + timeoutMs;
  while (systemClock.monotonic() < end && !signal.aborted) {
    const apps = demoApplications(hub.store);
    const { applications, synced, healthy } = count(apps);
    output.progress(`${applications} Applications: ${synced} synced, ${healthy} healthy`);
    if (apps.every(isSettled)) return true;
    await systemClock.sleep(lookEveryMs, signal).catch(() => undefined);
  }
  return false;
}
