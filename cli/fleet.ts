import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { messageOf, parseYamlDocuments, systemClock, systemRandom, UsageError } from '#base';
import type { KubeObject } from '#model';
import { kubeconfigFor, startSimCluster } from '#sim';
import type { SimCluster } from '#sim';
import { packageRoot } from './root.ts';

export interface FleetOptions {
  readonly names: readonly string[];
  /** Port of the first; the others follow. 0: any. */
  readonly port: number;
  /** How long one step of a workload takes, in ms. */
  readonly workloadDelayMs: number;
}

/** Simulated clusters in this process. */
export interface Fleet {
  readonly clusters: readonly SimCluster[];
  /** Contexts are the names of the clusters; the first is current. */
  readonly kubeconfig: string;
  close(): Promise<void>;
}

/** Starts the clusters with the CRDs of Applications and AppProjects; all or none. */
export async function startFleet(options: FleetOptions): Promise<Fleet> {
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
        }),
      );
    }
  } catch (error) {
    await close();
    throw error;
  }
  return { clusters, kubeconfig: kubeconfigFor(clusters), close };
}

/** The CustomResourceDefinitions of manifests/crds. */
export function argoCrds(): KubeObject[] {
  const folder = join(packageRoot(), 'manifests', 'crds');
  return readdirSync(folder)
    .filter((name) => name.endsWith('.yaml'))
    .sort()
    .flatMap((name) => parseYamlDocuments(readFileSync(join(folder, name), 'utf8')) as unknown as KubeObject[]);
}

/** Writes a kubeconfig that only the owner can read. */
export function writeKubeconfig(path: string, text: string): void {
  try {
    if (!existsSync(dirname(path))) mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text, { mode: 0o600 });
  } catch (error) {
    throw new UsageError(`cannot write the kubeconfig ${path}: ${messageOf(error)}`, { cause: error });
  }
}
