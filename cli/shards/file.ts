import { readFileSync } from 'node:fs';
import { defined, isObject, messageOf, parseJson, UsageError } from '#base';
import type { Json } from '#base';
import { clusterKey, maxParts, partKey } from '#sharding';
import type { ClusterWeighting } from '#sharding';
import { decidingClusters, sharedIds } from './source.ts';
import type { ListedCluster, FleetSource } from './source.ts';

type FileCluster = ListedCluster & { readonly applications: number };

const form = '{"id","server","name","shard"?,"applications"?,"split"?}';

/**
 * Reads clusters from a JSON file; `-` is stdin. Applications of a split cluster are spread evenly,
 * because a file does not name them.
 * @throws UsageError in one line: which cluster of which file, and what is wrong.
 */
export function readClusterFile(
  path: string,
  { defaultParts, weighting }: { readonly defaultParts: number; readonly weighting: ClusterWeighting },
): FleetSource {
  const clusters = clustersOf(path, defaultParts);
  const most = new Map<string, number>();
  for (const { server, applications } of clusters)
    most.set(clusterKey(server), Math.max(applications, most.get(clusterKey(server)) ?? 0));
  const applications = new Map<string, number>();
  for (const [key, { parts }] of decidingClusters(clusters)) {
    const count = most.get(key) ?? 0;
    for (let i = 0; i < parts; i += 1)
      applications.set(partKey(key, i, parts), Math.floor(count / parts) + (i < count % parts ? 1 : 0));
  }
  const unmeasured = 'a file says nothing of resources: clusters count for their Applications';
  return {
    clusters,
    applications,
    namespaces: new Map(),
    weights: applications,
    weighting: 'applications',
    published: undefined,
    hub: undefined,
    defaults: { replicas: 1, algorithm: 'legacy' },
    notes: [...sharedIds(clusters), ...(weighting === 'measured' ? [unmeasured] : [])],
  };
}

function clustersOf(path: string, defaultParts: number): readonly FileCluster[] {
  let json: Json;
  try {
    json = parseJson(readFileSync(path === '-' ? 0 : path, 'utf8').replace(/^\uFEFF/, ''));
  } catch (error) {
    throw new UsageError(`cannot read clusters from ${path}: ${messageOf(error)}`, { cause: error });
  }
  if (!Array.isArray(json)) throw new UsageError(`${path}: expected a JSON array of ${form}`);
  return (json as readonly Json[]).map((item, i) => clusterOf(item, `${path}, cluster ${i + 1}`, defaultParts));
}

function clusterOf(item: Json, where: string, defaultParts: number): FileCluster {
  if (!isObject(item)) throw new UsageError(`${where}: expected an object: ${form}`);
  const { id = '', server, name } = item;
  if (typeof id !== 'string') throw new UsageError(`${where}: "id" must be a string`);
  if (typeof server !== 'string' || clusterKey(server) === '')
    throw new UsageError(`${where}: "server" must be the URL of the cluster`);
  const whole = (key: string, least: number, most: number): number | undefined => {
    const value = item[key];
    if (value === undefined || value === null) return undefined;
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least && value <= most) return value;
    const range = most < Number.MAX_SAFE_INTEGER ? ` from ${least} to ${most}` : '';
    throw new UsageError(`${where}: "${key}" must be a whole number${range}`);
  };
  const shard = whole('shard', Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
  return {
    id,
    server,
    name: typeof name === 'string' ? name : server,
    applications: whole('applications', 0, Number.MAX_SAFE_INTEGER) ?? 0,
    parts: whole('split', 1, maxParts) ?? defaultParts,
    ...defined({ shard }),
  };
}
