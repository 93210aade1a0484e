import { readFileSync } from 'node:fs';
import { isObject, messageOf, parseJson, systemClock, systemRandom, UsageError } from '#base';
import type { Json } from '#base';
import { apiResource, connectionFromKubeconfig, createKubeClient, inClusterConnection } from '#kube';
import type { KubeClient } from '#kube';
import { asApplication, inClusterName, inClusterServer, labels } from '#model';
import type { Application, KubeObject } from '#model';
import { parseClusterSecret } from '#settings';
import {
  algorithms,
  clusterKey,
  countApplications,
  distribute,
  parseAlgorithm,
  partKey,
  partsOf,
  rebalance,
} from '#sharding';
import type { ShardingAlgorithm } from '#sharding';
import { silentLogger } from '#telemetry';
import { describe, readArgs } from './args.ts';
import type { CommandContext } from './driftless.ts';
import { table } from './output.ts';

const source = {
  clusters: { flag: 'clusters', kind: 'string', default: '', help: 'JSON array of clusters, - for standard input.' },
  kubeconfig: { flag: 'kubeconfig', kind: 'string', default: '', env: 'KUBECONFIG', help: 'Read a live hub instead.' },
  context: { flag: 'context', kind: 'string', default: '', help: 'Context in it.' },
  namespace: { flag: 'namespace', short: 'n', kind: 'string', default: '', help: 'Namespace of the controller.' },
  output: {
    flag: 'output',
    short: 'o',
    kind: 'string',
    default: '',
    choices: ['', 'json'],
    help: 'json for machines.',
  },
  help: { flag: 'help', short: 'h', kind: 'bool', default: false, help: 'This text.' },
} as const;

const method = {
  flag: 'algorithm',
  kind: 'string',
  default: 'legacy',
  help: 'legacy, round-robin or consistent-hashing.',
} as const;

const showOptions = {
  algorithm: { ...method, env: 'ARGOCD_CONTROLLER_SHARDING_ALGORITHM' },
  replicas: {
    flag: 'replicas',
    kind: 'int',
    default: 1,
    min: 1,
    max: 10_000,
    env: 'ARGOCD_CONTROLLER_REPLICAS',
    help: 'Number of replicas.',
  },
  ...source,
} as const;

const planOptions = {
  algorithm: { ...method, env: 'ARGOCD_CONTROLLER_SHARDING_ALGORITHM' },
  fromReplicas: { flag: 'from-replicas', kind: 'int', default: 0, min: 0, max: 10_000, help: 'Replicas now.' },
  toReplicas: { flag: 'to-replicas', kind: 'int', default: 0, min: 0, max: 10_000, help: 'Replicas then.' },
  fromAlgorithm: { ...method, flag: 'from-algorithm', default: '', help: 'Algorithm now; --algorithm when empty.' },
  toAlgorithm: { ...method, flag: 'to-algorithm', default: '', help: 'Algorithm then; as now when empty.' },
  ...source,
} as const;

/** One cluster, or one part of a split one. */
interface Entry {
  readonly id: string;
  readonly server: string;
  readonly name: string;
  readonly shard?: number;
  readonly parts: number;
  readonly applications: number;
}

interface Known {
  readonly clusters: readonly Entry[];
  /** Applications by part. */
  readonly weights: ReadonlyMap<string, number>;
}

/**
 * `driftless shards`: which shard each cluster is on, from a file or a live hub, without touching anything. `driftless shards plan`: what
 * would move. The same functions as the controller's, so they cannot disagree.
 */
export async function shards(context: CommandContext): Promise<number> {
  return context.argv[0] === 'plan' ? plan({ ...context, argv: context.argv.slice(1) }) : show(context);
}

async function show(context: CommandContext): Promise<number> {
  const { config, given, positionals } = readArgs(showOptions, context.argv, context.env);
  const { output } = context;
  if (config.help) {
    output.out(
      `usage: driftless shards [plan] (--clusters FILE | --kubeconfig FILE) [FLAGS]\n\n${describe(showOptions)}`,
    );
    return 0;
  }
  refuse(positionals);
  const algorithm = algorithmOf(config.algorithm, context);
  const known = await read(config, given, context);
  const assignments = assign(known, algorithm, config.replicas);
  const load = loadsOf(assignments, config.replicas);
  if (config.output === 'json') {
    output.out(JSON.stringify({ algorithm, replicas: config.replicas, assignments, load }));
    return 0;
  }
  const rows = assignments.map(({ shard, name, server, applications, id }) => [
    ...[String(shard), name, server, String(applications), id],
  ]);
  for (const line of table(['shard', 'name', 'server', 'applications', 'id'], rows)) output.out(line);
  output.out('');
  for (const line of balanceTable(load, assignments)) output.out(line);
  return 0;
}

async function plan(context: CommandContext): Promise<number> {
  const { config, given, positionals } = readArgs(planOptions, context.argv, context.env);
  const { output } = context;
  if (config.help) {
    const usage =
      'usage: driftless shards plan --from-replicas N --to-replicas M (--clusters FILE | --kubeconfig FILE) [FLAGS]';
    output.out(`${usage}\n\n${describe(planOptions)}`);
    return 0;
  }
  refuse(positionals);
  if (config.fromReplicas < 1 || config.toReplicas < 1)
    throw new UsageError('shards plan needs --from-replicas N and --to-replicas M, each at least 1');
  const from = algorithmOf(config.fromAlgorithm === '' ? config.algorithm : config.fromAlgorithm, context);
  const to = config.toAlgorithm === '' ? from : algorithmOf(config.toAlgorithm, context);
  const known = await read(config, given, context);
  const change = { from, to, fromReplicas: config.fromReplicas, toReplicas: config.toReplicas };
  const result = compare(known, change);
  if (config.output === 'json') {
    const { moved, movedApplications, moves } = result;
    output.out(JSON.stringify({ moved, movedApplications, moves }));
    return 0;
  }
  for (const line of table(['id', 'name', 'from', 'to'], result.rows)) output.out(line);
  if (result.moved > 0) output.out('');
  for (const line of whatIfTable(known, change)) output.out(line);
  return 0;
}

interface Change {
  readonly from: ShardingAlgorithm;
  readonly to: ShardingAlgorithm;
  readonly fromReplicas: number;
  readonly toReplicas: number;
}

type Assignment = Omit<Entry, 'parts' | 'shard'> & { readonly shard: number };

interface Moves {
  readonly moved: number;
  readonly movedApplications: number;
  readonly moves: readonly { readonly id: string; readonly from: number; readonly to: number }[];
  readonly rows: readonly (readonly string[])[];
  readonly load: readonly number[];
}

/** From the table that would be built now to the one that the controller would make of it. */
function compare(known: Known, { from, to, fromReplicas, toReplicas }: Change): Moves {
  const inputs = { clusters: known.clusters, weights: known.weights };
  const before = rebalance(undefined, { ...inputs, algorithm: from, replicas: fromReplicas }, 0);
  const after = rebalance(before, { ...inputs, algorithm: to, replicas: toReplicas }, 0);
  const was = assignmentsOf(known, before.shards);
  const will = assignmentsOf(known, after.shards);
  const changed = will.flatMap((now, i) => {
    const { shard = now.shard } = was[i] ?? {};
    return shard === now.shard ? [] : [{ ...now, from: shard, to: now.shard }];
  });
  return {
    moved: changed.length,
    movedApplications: changed.reduce((sum, { applications }) => sum + applications, 0),
    moves: changed.map((each) => ({ id: each.id, from: each.from, to: each.to })),
    rows: changed.map((each) => [each.id, each.name, String(each.from), String(each.to)]),
    load: loadsOf(will, toReplicas),
  };
}

/** The same change of replicas under each algorithm, so that people can choose. */
function whatIfTable(known: Known, change: Change): string[] {
  const applications = [...known.weights.values()].reduce((sum, count) => sum + count, 0);
  const parts = known.weights.size;
  const percent = (count: number, all: number): string => (all === 0 ? '0 %' : `${((100 * count) / all).toFixed(1)} %`);
  const rows = algorithms.map((algorithm) => {
    const { moved, movedApplications, load } = compare(known, { ...change, to: algorithm });
    const mark = algorithm === change.to ? '*' : '';
    const moving = `${moved} (${percent(moved, parts)})`;
    return [
      `${algorithm}${mark}`,
      moving,
      `${movedApplications} (${percent(movedApplications, applications)})`,
      fullness(load),
    ];
  });
  return table(
    [`to ${change.toReplicas} replicas by`, 'clusters moved', 'applications moved', 'fullest to average'],
    rows,
  );
}

function balanceTable(load: readonly number[], assignments: readonly Assignment[]): string[] {
  const counts = new Array<number>(load.length).fill(0);
  for (const { shard } of assignments) counts[shard] = (counts[shard] ?? 0) + 1;
  const rows = load.map((applications, shard) => [String(shard), String(counts[shard] ?? 0), String(applications)]);
  return [...table(['shard', 'clusters', 'applications'], rows), '', `fullest shard to average: ${fullness(load)}`];
}

function fullness(load: readonly number[]): string {
  const total = load.reduce((a, b) => a + b, 0);
  return total === 0 ? '-' : ((Math.max(...load) * load.length) / total).toFixed(2);
}

function assign(known: Known, algorithm: ShardingAlgorithm, replicas: number): readonly Assignment[] {
  return assignmentsOf(known, distribute(algorithm, known.clusters, known.weights, replicas));
}

/** A line for each cluster as it was given; for each part of a split one. Secrets that share a server share its shard and its count. */
function assignmentsOf(known: Known, shardOf: ReadonlyMap<string, number>): readonly Assignment[] {
  return known.clusters.flatMap(({ id, server, name, parts }) =>
    Array.from({ length: parts }, (_, i) => {
      const key = partKey(clusterKey(server), i, parts);
      const suffix = parts === 1 ? '' : ` (part ${i + 1} of ${parts})`;
      const applications = known.weights.get(key) ?? 0;
      return { id, server, name: `${name}${suffix}`, shard: shardOf.get(key) ?? 0, applications };
    }),
  );
}

function loadsOf(assignments: readonly Assignment[], replicas: number): readonly number[] {
  const load = new Array<number>(replicas).fill(0);
  for (const { shard, applications } of assignments) load[shard] = (load[shard] ?? 0) + applications;
  return load;
}

function algorithmOf(text: string, { output }: CommandContext): ShardingAlgorithm {
  const { algorithm, known } = parseAlgorithm(text);
  if (!known)
    output.err(
      `driftless: unknown algorithm "${text}": using legacy, as the controller does (known: ${algorithms.join(', ')})`,
    );
  return algorithm;
}

function refuse(positionals: readonly string[]): void {
  if (positionals.length > 0) throw new UsageError(`shards takes flags and "plan" only, not "${positionals[0] ?? ''}"`);
}

interface Where {
  readonly clusters: string;
  readonly kubeconfig: string;
  readonly context: string;
  readonly namespace: string;
}

async function read(where: Where, given: ReadonlySet<string>, context: CommandContext): Promise<Known> {
  if (where.clusters !== '') return knownOf(fromFile(where.clusters));
  if (where.kubeconfig !== '' || (context.env['KUBERNETES_SERVICE_HOST'] ?? '') !== '')
    return fromHub(where, context.signal);
  const hint = given.has('kubeconfig') ? '--kubeconfig is empty' : 'name them';
  throw new UsageError(`no clusters: ${hint} with --clusters FILE, or a live hub with --kubeconfig FILE`);
}

function knownOf(clusters: readonly Entry[]): Known {
  const weights = new Map<string, number>();
  for (const { server, applications } of clusters) {
    const key = clusterKey(server);
    weights.set(key, Math.max(weights.get(key) ?? 0, applications));
  }
  return { clusters, weights };
}

function fromFile(path: string): readonly Entry[] {
  let json: Json;
  try {
    json = parseJson(readFileSync(path === '-' ? 0 : path, 'utf8'));
  } catch (error) {
    throw new UsageError(`cannot read clusters from ${path}: ${messageOf(error)}`, { cause: error });
  }
  if (!Array.isArray(json))
    throw new UsageError(`${path}: expected a JSON array of {"id","server","name","shard"?,"applications"?}`);
  return (json as readonly Json[]).map((item, i) => entryOf(item, `${path}, cluster ${i + 1}`));
}

function entryOf(item: Json, where: string): Entry {
  if (!isObject(item)) throw new UsageError(`${where}: expected an object`);
  const { id = '', server, shard, applications = 0 } = item;
  if (typeof id !== 'string') throw new UsageError(`${where}: "id" must be a text`);
  if (typeof server !== 'string' || server === '')
    throw new UsageError(`${where}: "server" must be the URL of the cluster`);
  const name = typeof item['name'] === 'string' ? item['name'] : server;
  if (typeof applications !== 'number' || !Number.isSafeInteger(applications) || applications < 0)
    throw new UsageError(`${where}: "applications" must be a whole number`);
  if (shard === undefined || shard === null) return { id, server, name, parts: 1, applications };
  if (typeof shard !== 'number' || !Number.isSafeInteger(shard))
    throw new UsageError(`${where}: "shard" must be a whole number`);
  return { id, server, name, shard, parts: 1, applications };
}

const secrets = apiResource('', 'v1', 'Secret', 'secrets', true);
const applicationResource = apiResource('argoproj.io', 'v1alpha1', 'Application', 'applications', true);

async function fromHub(where: Where, signal: AbortSignal): Promise<Known> {
  const loaded =
    where.kubeconfig === ''
      ? await inClusterConnection()
      : await connectionFromKubeconfig(where.kubeconfig, where.context === '' ? undefined : where.context);
  const namespace = where.namespace === '' ? loaded.namespace : where.namespace;
  const deps = { clock: systemClock, random: systemRandom, logger: silentLogger, userAgent: 'driftless-shards' };
  const client = createKubeClient(loaded.connection, deps);
  try {
    const labelSelector = `${labels.secretType}=cluster`;
    const found = await listAll(client, secrets, { namespace, labelSelector, signal });
    const apps = await listAll(client, applicationResource, { signal });
    return fromObjects(found, apps.map(asApplication));
  } finally {
    await client.close();
  }
}

function fromObjects(found: readonly KubeObject[], apps: readonly Application[]): Known {
  const clusters = found.flatMap((secret): Omit<Entry, 'applications'>[] => {
    const parsed = parseClusterSecret(secret);
    if ('error' in parsed) return [];
    const { id, server, name, shard } = parsed;
    return [{ id, server, name, parts: partsOf(parsed, 1).parts, ...(shard === undefined ? {} : { shard }) }];
  });
  if (!clusters.some(({ server }) => clusterKey(server) === inClusterServer))
    clusters.push({ id: '', server: inClusterServer, name: inClusterName, parts: 1 });
  const weights = countApplications(clusters, apps);
  return { clusters: clusters.map((cluster) => ({ ...cluster, applications: 0 })), weights };
}

async function listAll(
  client: KubeClient,
  resource: Parameters<KubeClient['list']>[0],
  options: Parameters<KubeClient['list']>[1],
): Promise<readonly KubeObject[]> {
  const items: KubeObject[] = [];
  let token: string | undefined;
  do {
    const page = await client.list(resource, {
      ...options,
      limit: 500,
      ...(token === undefined ? {} : { continue: token }),
    });
    items.push(...page.items);
    token = page.continue;
  } while (token !== undefined);
  return items;
}
