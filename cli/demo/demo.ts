import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { untilAborted, systemClock } from '#base';
import { dashboardFiles, startDashboard } from '#dashboard';
import type { Application } from '#model';
import type { SimCluster } from '#sim';
import { printHelp, readArgs } from '../options/args.ts';
import type { CommandContext } from '../process/command.ts';
import { startFleet, writeKubeconfig } from '../simulation/fleet.ts';
import { paint } from '../process/output.ts';
import type { CommandOutput } from '../process/output.ts';
import { packageRoot } from '../process/root.ts';
import { controllerNamespace, hubObjects } from './objects.ts';
import { isSettled } from '../process/application-state.ts';
import { count, demoApplications, unsettledLines } from './progress.ts';
import { replicaAddress, ReplicaProcesses } from './replicas.ts';
import { makeRepositories } from './repositories.ts';
import type { SampleRepositories } from './repositories.ts';
import { runShow } from './show.ts';
import type { ShowDeps } from './show.ts';
import { demoTools, leftOutText } from './demo-tools.ts';
import { freePorts } from './free-ports.ts';
import { forwardToReplica, hints } from './dashboard-view.ts';
import type { DemoGuide } from './dashboard-view.ts';
import { help } from '../options/common-options.ts';

const options = {
  replicas: {
    flag: 'replicas',
    kind: 'int',
    default: 3,
    min: 1,
    max: 50,
    help: 'Number of controller replicas, each in its own process.',
  },
  clusters: {
    flag: 'clusters',
    kind: 'int',
    default: 3,
    min: 1,
    max: 100,
    help: 'Number of simulated clusters besides the hub.',
  },
  apps: {
    flag: 'apps',
    kind: 'int',
    min: 0,
    max: 5000,
    help: 'Number of small Applications besides the samples.',
  },
  port: {
    flag: 'port',
    kind: 'int',
    default: 8080,
    min: 0,
    max: 65_535,
    help: 'Port of the dashboard; 0 takes any free port.',
  },
  show: {
    flag: 'show',
    kind: 'bool',
    help: 'Make drift, pushes and hand-overs all the time, for the dashboard.',
  },
  once: {
    flag: 'once',
    kind: 'bool',
    help: 'Exit as soon as every Application is Synced and Healthy.',
  },
  timeout: {
    flag: 'timeout',
    kind: 'duration',
    default: 120_000,
    min: 1,
    help: 'Maximum time to wait until every Application is Synced and Healthy.',
  },
  output: {
    flag: 'output',
    short: 'o',
    kind: 'string',
    choices: ['', 'json'],
    help: 'Output format: json prints one object as the last line of stdout.',
  },
  help,
} as const;

const pollIntervalMs = 100;

/**
 * `driftless demo`: a simulated hub and clusters, real Git repositories and N replicas on this
 * machine. With `--once` the exit code reports whether everything became Synced and Healthy in
 * time.
 */
export async function demo({ argv, env, output, signal }: CommandContext): Promise<number> {
  const { config } = readArgs(options, argv, env);
  if (config.help) return printHelp(output, 'usage: driftless demo [FLAGS]', options);
  const stage = new CleanupStack();
  try {
    return await runDemo(config, { output, signal, stage });
  } finally {
    await stage.clear();
  }
}

type DemoConfig = ReturnType<typeof readArgs<typeof options>>['config'];

/** Cleans up in reverse order, whatever fails on the way. */
class CleanupStack {
  readonly #undo: (() => unknown)[] = [];

  onClear(undo: () => unknown): void {
    this.#undo.push(undo);
  }

  async clear(): Promise<void> {
    for (const undo of this.#undo.splice(0).reverse()) {
      try {
        await undo();
      } catch {
        // Continue with the next cleanup.
      }
    }
  }
}

interface DemoRun {
  readonly output: CommandOutput;
  readonly signal: AbortSignal;
  readonly stage: CleanupStack;
}

interface DemoScene {
  readonly hub: SimCluster;
  readonly replicas: ReplicaProcesses;
  readonly guide: DemoGuide;
  readonly clusters: readonly SimCluster[];
  readonly repositories: SampleRepositories;
}

function showDeps({ hub, clusters, replicas, repositories }: DemoScene, output: CommandOutput): ShowDeps {
  const push = (count: number): Promise<void> =>
    repositories.push('guestbook', 'frontend.yaml', (text) => text.replace(/replicas: \d+/, `replicas: ${count}`));
  const say = (text: string): void => output.err(`show: ${text}`);
  return { hub: hub.store, clusters, replicas, push, clock: systemClock, say };
}

async function runDemo(config: DemoConfig, run: DemoRun): Promise<number> {
  const started = systemClock.monotonic();
  const scene = await setUp(config, run);
  if (!config.once) await openDashboard(config, run, scene);
  scene.replicas.start();
  run.stage.onClear(() => scene.replicas.stop());
  const settled = await waitUntilSettled(scene.hub, config.timeout, run);
  const elapsedMs = Math.round(systemClock.monotonic() - started);
  const apps = demoApplications(scene.hub.store);
  const counts = { ...count(apps), clusters: config.clusters, replicas: config.replicas, elapsedMs };
  if (!settled && !run.signal.aborted) printUnsettled(apps, config, run.output);
  if (settled && !(config.once && config.output === 'json')) run.output.out(summary(run.output, counts));
  if (!config.once && !run.signal.aborted) printHints(scene, run.output);
  if (config.output === 'json') run.output.out(JSON.stringify(counts));
  if (config.once) return settled ? 0 : 1;
  await (config.show ? runShow(showDeps(scene, run.output), run.signal) : untilAborted(run.signal));
  run.output.err(`stopping ${config.replicas} replicas, which may take 3 s`);
  return 0;
}

/** Creates repositories, clusters and the hub's objects, and registers their cleanup. */
async function setUp(config: DemoConfig, { output, stage }: DemoRun): Promise<DemoScene> {
  const folder = mkdtempSync(join(tmpdir(), 'driftless-demo-'));
  stage.onClear(() => rmSync(folder, { recursive: true, force: true }));
  output.progress('creating sample repositories and simulated clusters');
  const repositories = await makeRepositories(folder, join(packageRoot(), 'examples'), config.apps);
  stage.onClear(() => repositories.close());
  const names = ['hub', ...Array.from({ length: config.clusters }, (_, i) => `sim-${i}`)];
  const first = { namespace: controllerNamespace, podAddress: replicaAddress(config.replicas) };
  const fleet = await startFleet({ names, port: 0, workloadDelayMs: 50, first });
  stage.onClear(() => fleet.close());
  const kubeconfig = join(folder, 'kubeconfig');
  writeKubeconfig(kubeconfig, fleet.kubeconfig);
  const [hub, ...clusters] = fleet.clusters as readonly [SimCluster, ...SimCluster[]];
  const repository = (name: string): string => repositories.url(name);
  const tools = demoTools(process.env);
  const plan = {
    clusters: clusters.map(({ name, url }) => ({ name, url })),
    repository,
    fleetSize: config.apps,
    toolSamples: tools.samples,
  };
  for (const object of hubObjects(plan)) hub.store.create(object, 'driftless-demo');
  const samples = demoApplications(hub.store).length - config.apps;
  const leftOut = leftOutText(tools, samples);
  if (leftOut !== undefined) output.err(leftOut);
  const replicas = new ReplicaProcesses({
    count: config.replicas,
    apiPorts: await freePorts(config.replicas),
    kubeconfig,
    context: 'hub',
    namespace: controllerNamespace,
    path: tools.path,
    folder,
    clock: systemClock,
    onExit: (name, how) => output.err(`${name} ended (${how}) and is restarted; its log is in ${folder}`),
  });
  const program = `${process.execPath} ${join(packageRoot(), 'dist', 'cli', 'main.js')}`;
  const guide = { kubeconfig, clusters: plan.clusters, repository, program, toolFolders: tools.folders };
  return { hub, replicas, clusters, repositories, guide };
}

async function openDashboard(config: DemoConfig, { output, stage }: DemoRun, { replicas }: DemoScene): Promise<void> {
  const files = dashboardFiles(join(packageRoot(), 'dist', 'dashboard', 'page'));
  const api = forwardToReplica(replicas);
  const dashboard = await startDashboard({ host: '127.0.0.1', port: config.port, files, api });
  stage.onClear(() => dashboard.close());
  output.err(`dashboard: ${dashboard.url}`);
}

function printUnsettled(apps: readonly Application[], config: DemoConfig, output: CommandOutput): void {
  for (const line of unsettledLines(apps, config.timeout)) output.err(line);
}

/** Prints where to look and what to try. */
function printHints({ replicas, guide }: DemoScene, output: CommandOutput): void {
  for (const line of ['', ...hints(guide), '']) output.out(line);
  for (const { name, pid, log } of replicas.states()) output.out(`  ${name}   pid ${pid ?? 0}   log ${log}`);
  output.out('\nPress Ctrl-C to stop.');
}

function summary(
  output: CommandOutput,
  counts: { applications: number; clusters: number; replicas: number; elapsedMs: number },
): string {
  const what = `${counts.applications} Applications on ${counts.clusters} clusters are Synced and Healthy`;
  return `${paint(output, 'green', what)}, kept by ${counts.replicas} replicas, after ${(counts.elapsedMs / 1000).toFixed(1)} s`;
}

/** True if every Application is settled; false at the timeout or when stopped. */
async function waitUntilSettled(hub: SimCluster, timeoutMs: number, { output, signal }: DemoRun): Promise<boolean> {
  const end = systemClock.monotonic() + timeoutMs;
  while (systemClock.monotonic() < end && !signal.aborted) {
    const apps = demoApplications(hub.store);
    const { applications, synced, healthy } = count(apps);
    output.progress(`${applications} Applications: ${synced} synced, ${healthy} healthy`);
    if (apps.every(isSettled)) return true;
    await systemClock.sleep(pollIntervalMs, signal).catch(() => undefined);
  }
  return false;
}
