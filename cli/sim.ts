import { Worker } from 'node:worker_threads';
import { abortable, aborted, UsageError } from '#base';
import { describe, readArgs } from './args.ts';
import type { CommandContext } from './command.ts';
import { writeKubeconfig } from './fleet.ts';
import type { FleetOptions } from './fleet.ts';
import { help } from './common-options.ts';
import type { SimStarted } from './sim-main.ts';

const options = {
  clusters: { flag: 'clusters', kind: 'int', default: 1, min: 1, max: 200, help: 'How many clusters.' },
  port: {
    flag: 'port',
    kind: 'int',
    default: 0,
    min: 0,
    max: 65_535,
    help: 'Port of the first cluster, the others follow; 0 takes any.',
  },
  kubeconfig: {
    flag: 'kubeconfig',
    kind: 'string',
    default: '',
    help: 'File to write, with contexts sim-0, sim-1 ...',
  },
  workloadDelay: {
    flag: 'workload-delay',
    kind: 'duration',
    default: 50,
    min: 0,
    help: 'How long one step of a workload takes.',
  },
  help,
} as const;

/** `driftless sim`: simulated API servers until a signal ends them. One line of JSON says when they can be used. */
export async function sim({ argv, env, output, signal }: CommandContext): Promise<number> {
  const { config } = readArgs(options, argv, env);
  if (config.help) {
    output.out(`usage: driftless sim --kubeconfig FILE [FLAGS]\n\n${describe(options)}`);
    return 0;
  }
  if (config.kubeconfig === '')
    throw new UsageError('sim needs --kubeconfig FILE, where it writes how to reach the clusters');
  const names = Array.from({ length: config.clusters }, (_, i) => `sim-${i}`);
  const servers = await startServers({ names, port: config.port, workloadDelayMs: config.workloadDelay }, signal);
  try {
    writeKubeconfig(config.kubeconfig, servers.kubeconfig);
    output.out(JSON.stringify({ ready: true, servers: servers.urls }));
    await Promise.race([aborted(signal), servers.failed]);
  } finally {
    await servers.stop();
  }
  return 0;
}

interface Servers {
  readonly kubeconfig: string;
  readonly urls: readonly string[];
  /** Rejects when they end by themselves. */
  readonly failed: Promise<never>;
  stop(): Promise<unknown>;
}

/**
 * On a thread of their own: an object of a client may hold their loop up for ever, as with the pattern of a CRD, and nobody would hear a signal.
 * A thread can be ended in the middle of that.
 */
async function startServers(options: FleetOptions, signal: AbortSignal): Promise<Servers> {
  const worker = new Worker(new URL('./sim-main.js', import.meta.url), { workerData: options });
  const failed = new Promise<never>((_resolve, reject) => {
    worker.once('error', reject);
    worker.once('exit', () => reject(new Error('the simulated servers ended by themselves')));
  });
  // Who waits for it hears of it; a stop that is wanted ends the thread too.
  failed.catch(() => undefined);
  const started = new Promise<SimStarted>((resolve) => {
    worker.once('message', resolve);
  });
  try {
    const said = await abortable(Promise.race([started, failed]), signal);
    if ('failure' in said) throw new Error(said.failure);
    return { kubeconfig: said.kubeconfig, urls: said.servers, failed, stop: () => worker.terminate() };
  } catch (error) {
    await worker.terminate();
    throw error;
  }
}
