import { aborted, UsageError } from '#base';
import { describe, readArgs } from './args.ts';
import type { CommandContext } from './command.ts';
import { startFleet, writeKubeconfig } from './fleet.ts';
import { help } from './common-options.ts';

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
  const fleet = await startFleet({ names, port: config.port, workloadDelayMs: config.workloadDelay });
  try {
    writeKubeconfig(config.kubeconfig, fleet.kubeconfig);
    output.out(JSON.stringify({ ready: true, servers: fleet.clusters.map((cluster) => cluster.url) }));
    await aborted(signal);
  } finally {
    await fleet.close();
  }
  return 0;
}
