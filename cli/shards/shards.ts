import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock, UsageError } from '#base';
import { algorithms, parseAlgorithm, weightings } from '#sharding';
import type { ShardingAlgorithm } from '#sharding';
import { describe, readArgs } from '../args.ts';
import type { ConfigOf, Parsed } from '../args.ts';
import type { CommandContext } from '../command.ts';
import { readClusterFile } from './file.ts';
import { readHub } from './hub.ts';
import { layoutFor, outcomeOf, outcomes } from './layout.ts';
import { mostReplicas, planOptions, showOptions, watchOptions } from './options.ts';
import { oddities } from './source.ts';
import type { Source } from './source.ts';
import { originLine, planJson, planLines, showJson, showLines } from './tables.ts';
import { watchShards } from './watch.ts';

/**
 * `driftless shards`: which shard each cluster is on, from a file or a live hub, without touching anything. `driftless shards plan`: what
 * would move. `driftless shards watch`: who holds which shard of a live hub, and what moves, as it happens. The same functions as the controller's, and with a live hub the table that it has published, so they cannot disagree.
 */
export async function shards(context: CommandContext): Promise<number> {
  const [word] = context.argv;
  const rest = { ...context, argv: context.argv.slice(1) };
  if (word === 'watch') return watch(rest);
  return word === 'plan' ? plan(rest) : show(context);
}

async function watch(context: CommandContext): Promise<number> {
  const parsed = readArgs(watchOptions, context.argv, context.env);
  const { config, positionals, warnings } = parsed;
  const { output, signal } = context;
  if (config.help) {
    output.out(`usage: driftless shards watch --kubeconfig FILE [FLAGS]\n\n${describe(watchOptions)}`);
    return 0;
  }
  note(warnings, context);
  if (positionals.length > 0) throw new UsageError(`shards watch takes flags only, not "${positionals[0] ?? ''}"`);
  const kubeconfig = hubFile(parsed, context);
  if (kubeconfig === undefined) throw new UsageError('no hub to watch: name it with --kubeconfig FILE');
  const { context: name, namespace } = config;
  await watchShards({ kubeconfig, context: name, namespace, isJson: config.output === 'json', output, signal });
  return 0;
}

async function show(context: CommandContext): Promise<number> {
  const parsed = readArgs(showOptions, context.argv, context.env);
  const { config } = parsed;
  const { output } = context;
  if (config.help) {
    const usage = 'usage: driftless shards [plan|watch] (--clusters FILE | --kubeconfig FILE) [FLAGS]';
    output.out(`${usage}\n\n${describe(showOptions)}`);
    return 0;
  }
  checkWords(parsed, context);
  checkReplicas('replicas', config.replicas);
  const source = await read(parsed, config.replicas === 0, context);
  const replicas = config.replicas === 0 ? source.defaults.replicas : config.replicas;
  const algorithm = algorithmOf(config.algorithm, source, context);
  const layout = layoutFor(source, { algorithm, replicas }, systemClock.now());
  note([...source.notes, ...oddities(source.clusters, replicas)], context);
  if (config.output === 'json') output.out(JSON.stringify(showJson(source, layout)));
  else {
    note(originLine(source, layout), context);
    for (const line of showLines(source, layout)) output.out(line);
  }
  return 0;
}

async function plan(context: CommandContext): Promise<number> {
  const parsed = readArgs(planOptions, context.argv, context.env);
  const { config } = parsed;
  const { output } = context;
  if (config.help) {
    const usage =
      'usage: driftless shards plan [--from-replicas N] --to-replicas M (--clusters FILE | --kubeconfig FILE) [FLAGS]';
    output.out(`${usage}\n\n${describe(planOptions)}`);
    return 0;
  }
  checkWords(parsed, context);
  checkChange(config);
  const source = await read(parsed, config.fromReplicas === 0, context);
  const fromReplicas = config.fromReplicas === 0 ? source.defaults.replicas : config.fromReplicas;
  const named = config.fromAlgorithm === '' ? config.algorithm : config.fromAlgorithm;
  const from = algorithmOf(named, source, context);
  const target = {
    algorithm: config.toAlgorithm === '' ? from : algorithmOf(config.toAlgorithm, source, context),
    replicas: config.toReplicas === 0 ? fromReplicas : config.toReplicas,
  };
  const now = systemClock.now();
  const before = layoutFor(source, { algorithm: from, replicas: fromReplicas }, now);
  const outcome = outcomeOf(source, before, target, now);
  const choices = outcomes(source, before, target, now);
  note([...source.notes, ...oddities(source.clusters, target.replicas)], context);
  if (config.output === 'json') output.out(JSON.stringify(planJson(before, target, outcome, choices)));
  else {
    note(originLine(source, before), context);
    for (const line of planLines(source, target, outcome, choices)) output.out(line);
  }
  return 0;
}

type Given = Parsed<typeof showOptions> | Parsed<typeof planOptions>;

/** Bad usage that readArgs cannot know, before anything is read; and what readArgs has to say. */
function checkWords({ positionals, flags, warnings }: Given, context: CommandContext): void {
  note(warnings, context);
  if (positionals.length > 0) throw new UsageError(`shards takes flags and "plan" only, not "${positionals[0] ?? ''}"`);
  if (flags.has('clusters') && flags.has('kubeconfig'))
    throw new UsageError('--clusters and --kubeconfig exclude each other: name a file, or a live hub');
}

function checkChange(config: ConfigOf<typeof planOptions>): void {
  if (config.toReplicas < 1 && config.toAlgorithm === '')
    throw new UsageError('shards plan needs --to-replicas M (at least 1), or --to-algorithm');
  if (config.fromReplicas < 1 && config.clusters !== '')
    throw new UsageError('shards plan needs --from-replicas N (at least 1): a file does not say how many there are');
  checkReplicas('from-replicas', config.fromReplicas);
  checkReplicas('to-replicas', config.toReplicas);
}

function checkReplicas(flag: string, replicas: number): void {
  if (replicas > mostReplicas)
    throw new UsageError(`--${flag}: must be a whole number, at most ${mostReplicas}, not "${replicas}"`);
}

async function read({ config, given }: Given, needsReplicas: boolean, context: CommandContext): Promise<Source> {
  const weighting = weightings.find((name) => name === config.clusterWeights) ?? 'applications';
  if (config.clusters !== '') return readClusterFile(config.clusters, { defaultParts: config.clusterSplit, weighting });
  const kubeconfig = hubFile({ config, given }, context);
  if (kubeconfig === undefined) {
    const hint = given.has('kubeconfig') ? '--kubeconfig is empty' : 'name them';
    throw new UsageError(`no clusters: ${hint} with --clusters FILE, or a live hub with --kubeconfig FILE`);
  }
  return readHub({
    kubeconfig,
    context: config.context,
    namespace: config.namespace,
    controllerName: config.controllerName,
    applicationNamespaces: given.has('applicationNamespaces') ? config.applicationNamespaces : undefined,
    defaultParts: given.has('clusterSplit') ? config.clusterSplit : undefined,
    weighting,
    needsReplicas,
    signal: context.signal,
  });
}

/** The kubeconfig of the live hub; empty: the pod's own cluster. Undefined: there is none. */
function hubFile(
  { config, given }: { readonly config: { readonly kubeconfig: string }; readonly given: ReadonlySet<string> },
  context: CommandContext,
): string | undefined {
  const inPod = (context.env['KUBERNETES_SERVICE_HOST'] ?? '') !== '';
  const kubeconfig = given.has('kubeconfig') || inPod ? config.kubeconfig : ownKubeconfig(context);
  return kubeconfig === '' && !inPod ? undefined : kubeconfig;
}

/** Where kubectl would look; empty when there is nothing. */
function ownKubeconfig({ env }: CommandContext): string {
  const path = join(env['HOME'] ?? '', '.kube', 'config');
  return (env['HOME'] ?? '') !== '' && existsSync(path) ? path : '';
}

/** What was named, else what the source says. */
function algorithmOf(named: string, source: Source, context: CommandContext): ShardingAlgorithm {
  const text = named === '' ? source.defaults.algorithm : named;
  const { algorithm, known } = parseAlgorithm(text);
  if (!known)
    note(
      [`unknown algorithm "${text}": using legacy, as the controller does (known: ${algorithms.join(', ')})`],
      context,
    );
  return algorithm;
}

function note(lines: readonly string[], { output }: CommandContext): void {
  for (const line of lines) output.err(`driftless: ${line}`);
}
