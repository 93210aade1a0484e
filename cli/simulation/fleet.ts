import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { defined, messageOf, parseYamlDocuments, systemClock, systemRandom, UsageError } from '#base';
import type { KubeObject } from '#model';
import { kubeconfigFor, startSimCluster } from '#sim';
import type { SimCluster, SimOptions } from '#sim';
import { packageRoot } from '../process/root.ts';

export interface FleetOptions {
  readonly names: readonly string[];
  /** Port of the first cluster; the others follow. 0: any free port. */
  readonly port: number;
  /** Duration of one workload step in milliseconds. */
  readonly workloadDelayMs: number;
  /** The first cluster's default namespace, and its SimOptions.podAddress. */
  readonly first?: { readonly namespace: string; readonly podAddress: NonNullable<SimOptions['podAddress']> };
}

/** Each simulated cluster accepts any token; replicas ask for one. */
const token = 'simulated';

/** Simulated clusters in this process. */
export interface SimulatedFleet {
  readonly clusters: readonly SimCluster[];
  /** Kubeconfig whose contexts are the cluster names; the first is current. */
  readonly kubeconfig: string;
  close(): Promise<void>;
}

/**
 * Starts the clusters with the CRDs of Applications and AppProjects. If one fails, all are stopped.
 */
export async function startFleet(options: FleetOptions): Promise<SimulatedFleet> {
  const crds = argoCrds();
  const clusters: SimCluster[] = [];
  const close = async (): Promise<void> => {
    await Promise.all(clusters.map((cluster) => cluster.close()));
  };
  try {
    for (const [index, name] of options.names.entries()) {
      clusters.push(
        await startSimCluster({
          name,
          clock: systemClock,
          random: systemRandom,
          port: options.port === 0 ? 0 : options.port + index,
          crds,
          workloads: { enabled: true, delayMs: options.workloadDelayMs },
          ...(index === 0 ? defined({ podAddress: options.first?.podAddress }) : {}),
        }),
      );
    }
  } catch (error) {
    await close();
    throw error;
  }
  return {
    clusters,
    kubeconfig: kubeconfigFor(clusters, { token, ...defined({ namespace: options.first?.namespace }) }),
    close,
  };
}

/** The CustomResourceDefinitions of manifests/crds. */
export function argoCrds(): KubeObject[] {
  const folder = join(packageRoot(), 'manifests', 'crds');
  return readdirSync(folder)
    .filter((name) => name.endsWith('.yaml'))
    .sort()
    .flatMap((name) => parseYamlDocuments(readFileSync(join(folder, name), 'utf8')) as unknown as KubeObject[]);
}

/** Writes a kubeconfig with mode 0600. */
export function writeKubeconfig(path: string, text: string): void {
  try {
    if (!existsSync(dirname(path))) mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text, { mode: 0o600 });
  } catch (error) {
    throw new UsageError(`cannot write the kubeconfig ${path}: ${messageOf(error)}`, { cause: error });
  }
}
