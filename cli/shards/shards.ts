import { outsideText, systemClock, UsageError } from '#base';
import { algorithms, parseAlgorithm, clusterWeightings } from '#sharding';
import type { ShardingAlgorithm } from '#sharding';
import { printHelp, readArgs } from '../options/args.ts';
import type { ConfigOf, ParsedArgs } from '../options/args.ts';
import type { CommandContext } from '../process/command.ts';
import { kubeconfigIn } from '../process/hub.ts';
import { structured } from '../process/structured.ts';
import { withReader } from '../read-api/connect.ts';
import { defaultKubeconfig } from '../read-api/defaults.ts';
import { readClusterFile } from './file.ts';
import { readHub } from './hub.ts';
import { layoutFor, outcomeOf, outcomes } from './layout.ts';
import type { TableLayout } from './layout.ts';
import { readMeasuredLoad } from './measured-load.ts';
import type { MeasuredLoad } from './measured-load.ts';
import { maxReplicas, planOptions, showOptions, statsOptions, watchOptions } from './options.ts';
import { replicasNeeded, sizingJson, sizingLines } from './sizing.ts';
import type { ReplicaAdvice } from './sizing.ts';
import { pinNotes } from './source.ts';
import type { FleetSource } from './source.ts';
import { missingNotes, readWatchedFleet, shardSums, statsJson, statsLines, statsRows } from './stats.ts';
import type { StatsRow } from './stats.ts';
import { originLine, planJson, planLines, showJson, showLines } from './tables.ts';
import { watchShards } from './watch.ts';
import { isInPod } from '../process/in-pod.ts';

/**
 * `driftless shards` shows the shard of each cluster, from a file or a live hub; `stats` what each
 * cluster and shard has, as replicas report it; `plan` what would move; `watch` follows holders and
 * moves of a live hub. Reads only. Uses the controller's functions, and the published table of a
 * live hub, so that both agree.
 */
export async function shards(context: CommandContext): Promise<number> {
  const [word] = context.argv;
  const rest = { ...context, argv: context.argv.slice(1) };
  if (word === 'watch') return watch(rest);
  if (word === 'stats') return stats(rest);
  return word === 'plan' ? plan(rest) : show(context);
}

async function watch(context: CommandContext): Promise<number> {
  const parsed = readArgs(watchOptions, context.argv, context.env);
  const { config, positionals, warnings } = parsed;
  const { output, signal } = context;
  if (config.help) return printHelp(output, 'usage: driftless shards watch --kubeconfig FILE [FLAGS]', watchOptions);
  printNotes(warnings, context);
  if (positionals.length > 0) throw new UsageError(`shards watch takes flags only, not "${positionals[0] ?? ''}"`);
  const kubeconfig = hubFile(parsed, context);
  if (kubeconfig === undefined) throw new UsageError('no hub configured: set --kubeconfig FILE');
  const { context: name } = config;
  const namespace = controllerNamespace(parsed, context);
  await watchShards({ kubeconfig, context: name, namespace, isJson: config.output === 'json', output, signal });
  return 0;
}

async function show(context: CommandContext): Promise<number> {
  const parsed = readArgs(showOptions, context.argv, context.env);
  const { config } = parsed;
  const { output } = context;
  const usage = 'usage: driftless shards [stats|plan|watch] (--clusters FILE | --kubeconfig FILE) [FLAGS]';
  if (config.help) return printHelp(output, usage, showOptions);
  checkWords(parsed, context);
  checkReplicas('replicas', config.replicas);
  const source = await read(parsed, config.replicas === 0, context);
  const replicas = config.replicas === 0 ? source.defaults.replicas : config.replicas;
  const algorithm = algorithmOf(config.algorithm, source, context);
  const layout = layoutFor(source, { algorithm, replicas }, systemClock.now());
  printNotes([...source.notes, ...pinNotes(source.clusters, replicas)], context);
  const text = structured(config.output, showJson(source, layout));
  if (text !== undefined) output.out(text);
  else {
    printNotes(originLine(source, layout), context);
    for (const line of showLines(source, layout)) output.out(line);
  }
  return 0;
}

async function stats(context: CommandContext): Promise<number> {
  const parsed = readArgs(statsOptions, context.argv, context.env);
  const { config } = parsed;
  const { output, signal, env } = context;
  if (config.help) return printHelp(output, 'usage: driftless shards stats --kubeconfig FILE [FLAGS]', statsOptions);
  checkWords(parsed, context);
  checkReplicas('replicas', config.replicas);
  if (config.clusters !== '') throw new UsageError('shards stats reads a live hub: set --kubeconfig, not --clusters');
  const source = await read(parsed, config.replicas === 0, context);
  const replicas = config.replicas === 0 ? source.defaults.replicas : config.replicas;
  const algorithm = algorithmOf(config.algorithm, source, context);
  const layout = layoutFor(source, { algorithm, replicas }, systemClock.now());
  const reached = { ...config, kubeconfig: hubFile(parsed, context) ?? '', controllerNamespace: source.hub ?? '' };
  const fleet = await withReader(
    reached,
    { kubeconfig: defaultKubeconfig(env), socket: '' },
    signal,
    readWatchedFleet,
  ).catch((error: unknown) => {
    signal.throwIfAborted();
    return error instanceof Error ? error : new Error(String(error));
  });
  printNotes([...source.notes, ...pinNotes(source.clusters, replicas), ...missingNotes(fleet)], context);
  const every = statsRows(source, layout, fleet instanceof Error ? undefined : fleet);
  const tables = { rows: every.filter(isOfShard(config.shard)), sums: shardSums(every, replicas) };
  const text = structured(config.output, statsJson(tables));
  if (text !== undefined) output.out(text);
  else {
    printNotes(originLine(source, layout), context);
    for (const line of statsLines(tables)) output.out(line);
  }
  return 0;
}

/** @param wanted -1: every shard */
function isOfShard(wanted: number): (row: StatsRow) => boolean {
  return ({ shard, standIn }) => wanted === -1 || shard === wanted || standIn === wanted;
}

async function plan(context: CommandContext): Promise<number> {
  const parsed = readArgs(planOptions, context.argv, context.env);
  const { config } = parsed;
  const { output } = context;
  const usage =
    'usage: driftless shards plan [--from-replicas N] [--replicas M] (--clusters FILE | --kubeconfig FILE) [FLAGS]';
  if (config.help) return printHelp(output, usage, planOptions);
  checkWords(parsed, context);
  checkChange(config);
  const source = await read(parsed, config.fromReplicas === 0, context);
  const fromReplicas = config.fromReplicas === 0 ? source.defaults.replicas : config.fromReplicas;
  const named = config.fromAlgorithm === '' ? config.algorithm : config.fromAlgorithm;
  const from = algorithmOf(named, source, context);
  const now = systemClock.now();
  const before = layoutFor(source, { algorithm: from, replicas: fromReplicas }, now);
  const sizing =
    config.toReplicas === 0 && config.toAlgorithm === '' ? await size(parsed, source, before, context) : undefined;
  const target = {
    algorithm: config.toAlgorithm === '' ? from : algorithmOf(config.toAlgorithm, source, context),
    replicas: config.toReplicas === 0 ? (sizing?.advice?.replicas ?? fromReplicas) : config.toReplicas,
  };
  const outcome = outcomeOf(source, before, target, now);
  const choices = outcomes(source, before, target, now);
  printNotes([...source.notes, ...pinNotes(source.clusters, target.replicas)], context);
  const shown = planJson(before, target, outcome, choices);
  const sized = sizing === undefined ? shown : { ...shown, sizing: sizingJson(sizing.load, sizing.advice) };
  const text = structured(config.output, sized);
  if (text !== undefined) output.out(text);
  else {
    printNotes(originLine(source, before), context);
    if (sizing !== undefined) for (const line of [...sizingLines(sizing.load, sizing.advice), '']) output.out(line);
    for (const line of planLines(source, target, outcome, choices)) output.out(line);
  }
  return 0;
}

interface Sizing {
  readonly load: MeasuredLoad;
  readonly advice: ReplicaAdvice | undefined;
}

/** Measures the load of a live hub, and how many replicas it needs. */
async function size(
  { config, given }: ParsedArgs<typeof planOptions>,
  source: FleetSource,
  before: TableLayout,
  context: CommandContext,
): Promise<Sizing> {
  const reached = {
    ...config,
    kubeconfig: hubFile({ config, given }, context) ?? '',
    controllerNamespace: source.hub ?? '',
  };
  const defaults = { kubeconfig: defaultKubeconfig(context.env), socket: '' };
  const load = await withReader(reached, defaults, context.signal, readMeasuredLoad);
  printNotes(
    load.silent.map((name) => `no figures of replica ${outsideText('field', name)}: it counts by its weight`),
    context,
  );
  return { load, advice: replicasNeeded(source, before, load, systemClock.now()) };
}

type ParsedShardArgs =
  ParsedArgs<typeof showOptions> | ParsedArgs<typeof planOptions> | ParsedArgs<typeof statsOptions>;

/** Checks usage that readArgs cannot, before anything is read, and prints warnings of readArgs. */
function checkWords({ positionals, flags, warnings }: ParsedShardArgs, context: CommandContext): void {
  printNotes(warnings, context);
  if (positionals.length > 0)
    throw new UsageError(`shards takes flags, "stats", "plan" and "watch" only, not "${positionals[0] ?? ''}"`);
  if (flags.has('clusters') && flags.has('kubeconfig'))
    throw new UsageError('--clusters and --kubeconfig are mutually exclusive');
}

function checkChange(config: ConfigOf<typeof planOptions>): void {
  if (config.toReplicas < 1 && config.toAlgorithm === '' && config.clusters !== '')
    throw new UsageError('shards plan --clusters needs --replicas M (at least 1), or --to-algorithm');
  if (config.fromReplicas < 1 && config.clusters !== '')
    throw new UsageError('shards plan needs --from-replicas N (at least 1) with --clusters');
  checkReplicas('from-replicas', config.fromReplicas);
  checkReplicas('replicas', config.toReplicas);
}

function checkReplicas(flag: string, replicas: number): void {
  if (replicas > maxReplicas)
    throw new UsageError(`--${flag}: must be a whole number, at most ${maxReplicas}, not "${replicas}"`);
}

async function read(
  { config, given }: ParsedShardArgs,
  needsReplicas: boolean,
  context: CommandContext,
): Promise<FleetSource> {
  const weighting = clusterWeightings.find((name) => name === config.clusterWeights) ?? 'applications';
  if (config.clusters !== '') return readClusterFile(config.clusters, { defaultParts: config.clusterSplit, weighting });
  const kubeconfig = hubFile({ config, given }, context);
  if (kubeconfig === undefined) {
    const hint = given.has('kubeconfig') ? '--kubeconfig is empty' : 'name them';
    throw new UsageError(`no clusters: ${hint} with --clusters FILE, or a live hub with --kubeconfig FILE`);
  }
  return readHub({
    kubeconfig,
    context: config.context,
    namespace: controllerNamespace({ config, given }, context),
    controllerName: config.controllerName,
    applicationNamespaces: given.has('applicationNamespaces') ? config.applicationNamespaces : undefined,
    defaultParts: given.has('clusterSplit') ? config.clusterSplit : undefined,
    weighting,
    needsReplicas,
    signal: context.signal,
  });
}

/** Empty in a pod without a setting: the namespace of the pod. */
function controllerNamespace(
  { config, given }: { readonly config: { readonly namespace: string }; readonly given: ReadonlySet<string> },
  { env }: CommandContext,
): string {
  return isInPod(env) && !given.has('namespace') ? '' : config.namespace;
}

/** Kubeconfig of the live hub; empty: in-cluster configuration; undefined: no hub. */
function hubFile(
  { config, given }: { readonly config: { readonly kubeconfig: string }; readonly given: ReadonlySet<string> },
  context: CommandContext,
): string | undefined {
  const inPod = isInPod(context.env);
  const kubeconfig = given.has('kubeconfig') || inPod ? config.kubeconfig : kubeconfigIn(context.env['HOME']);
  return kubeconfig === '' && !inPod ? undefined : kubeconfig;
}

/** The algorithm from the flag, otherwise from the source. */
function algorithmOf(named: string, source: FleetSource, context: CommandContext): ShardingAlgorithm {
  const text = named === '' ? source.defaults.algorithm : named;
  const { algorithm, known } = parseAlgorithm(text);
  if (!known)
    printNotes(
      [`unknown algorithm "${text}": using legacy, as the controller does (known: ${algorithms.join(', ')})`],
      context,
    );
  return algorithm;
}

function printNotes(lines: readonly string[], { output }: CommandContext): void {
  for (const line of lines) output.err(`driftless: ${line}`);
}
