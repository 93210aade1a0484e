import { Worker } from 'node:worker_threads';
import { abortable, untilAborted, UsageError } from '#base';
import { printHelp, readArgs } from '../options/args.ts';
import type { CommandContext } from '../process/command.ts';
import { writeKubeconfig } from './fleet.ts';
import type { FleetOptions } from './fleet.ts';
import { help } from '../options/common-options.ts';
import type { SimStarted } from './sim-main.ts';

const options = {
  clusters: { flag: 'clusters', kind: 'int', default: 1, min: 1, max: 200, help: 'Number of clusters.' },
  port: {
    flag: 'port',
    kind: 'int',
    min: 0,
    max: 65_535,
    help: 'Port of the first cluster; the others follow. 0 takes any free ports.',
  },
  kubeconfig: {
    flag: 'kubeconfig',
    kind: 'string',
    help: 'Path of the kubeconfig file to write, with the contexts sim-0, sim-1, ...',
  },
  workloadDelay: {
    flag: 'workload-delay',
    kind: 'duration',
    default: 50,
    min: 0,
    help: 'Duration of one workload step.',
  },
  help,
} as const;

/**
 * `driftless sim`: simulated API servers until a signal stops them. One line of JSON reports that
 * they are ready.
 */
export async function sim({ argv, env, output, signal }: CommandContext): Promise<number> {
  const { config } = readArgs(options, argv, env);
  if (config.help) return printHelp(output, 'usage: driftless sim --kubeconfig FILE [FLAGS]', options);
  if (config.kubeconfig === '') throw new UsageError('sim needs --kubeconfig FILE, the kubeconfig file to write');
  const names = Array.from({ length: config.clusters }, (_, i) => `sim-${i}`);
  const servers = await startServers({ names, port: config.port, workloadDelayMs: config.workloadDelay }, signal);
  try {
    writeKubeconfig(config.kubeconfig, servers.kubeconfig);
    output.out(JSON.stringify({ ready: true, servers: servers.urls }));
    await Promise.race([untilAborted(signal), servers.failed]);
  } finally {
    await servers.stop();
  }
  return 0;
}

interface SimulatedServers {
  readonly kubeconfig: string;
  readonly urls: readonly string[];
  /** Rejects when the servers end unexpectedly. */
  readonly failed: Promise<never>;
  stop(): Promise<unknown>;
}

/**
 * Runs the servers in a worker thread: an object of a client (such as a CRD's pattern) may block
 * their event loop forever, and a worker can be terminated even then.
 */
async function startServers(options: FleetOptions, signal: AbortSignal): Promise<SimulatedServers> {
  const worker = new Worker(new URL('./sim-main.js', import.meta.url), { workerData: options });
  const failed = new Promise<never>((_resolve, reject) => {
    worker.once('error', reject);
    worker.once('exit', () => reject(new Error('the simulated servers exited unexpectedly')));
  });
  // Handled where it is awaited; a wanted stop also ends the thread.
  failed.catch(() => undefined);
  const started = new Promise<SimStarted>((resolve) => {
    worker.once('message', resolve);
  });
  try {
    const answer = await abortable(Promise.race([started, failed]), signal);
    if ('failure' in answer) throw new Error(answer.failure);
    return { kubeconfig: answer.kubeconfig, urls: answer.servers, failed, stop: () => worker.terminate() };
  } catch (error) {
    await worker.terminate();
    throw error;
  }
}
