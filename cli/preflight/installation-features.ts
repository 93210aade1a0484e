import { outsideText } from '#base';
import { annotations, labels } from '#model';
import type { Cluster } from '#model';
import { chooseClusters } from '#settings';
import type { SettingsNote } from '#settings';
import { clusterKey, parseAlgorithm } from '#sharding';
import { renderingFeatures } from './rendering-features.ts';
import { inertOptions } from '../options/inert-options.ts';
import { renderingOptions } from '../options/rendering-options.ts';
import { runOptions } from '../options/run-options.ts';
import { defaultOf } from '../options/args.ts';
import type { OptionSpec } from '../options/args.ts';
import { isTrue } from './facts.ts';
import type { InstallationFacts } from './facts.ts';
import { ruleFeatures } from './ignore-rules.ts';
import { localDiff, rows } from './rows.ts';
import type { UsedFeature } from './rows.ts';

/**
 * Settings, flags and clusters of the installation that Driftless lacks or implements differently.
 */
export function installationFeatures(installation: InstallationFacts): readonly UsedFeature[] {
  return [
    ...settingsFeatures(installation),
    ...customizations(installation),
    ...flagFeatures(installation),
    ...serviceFeatures(installation),
    ...renderingFeatures(installation),
    ...shardingFeatures(installation),
    ...installation.clusters.flatMap(clusterFeatures),
    {
      feature: "Argo CD's UI shows no resource tree unless this controller is told where Redis is",
      where: 'Redis',
      severity: 'info',
      row: rows.redis,
    },
  ];
}

const noteFeatures: Readonly<Record<SettingsNote['reason'], Pick<UsedFeature, 'severity' | 'row'>>> = {
  jq: { severity: 'differs', row: rows.updatesByJq },
  selectors: { severity: 'differs', row: rows.selectors },
  unused: { severity: 'info', row: rows.inert },
};

/** Entries that cannot be read: those that narrow what is written stop that. */
function problemFeatures(
  { unreadable }: InstallationFacts['settings'],
  problems: InstallationFacts['problems'],
): UsedFeature[] {
  const narrowing = new Set(unreadable.map(({ key, problem }) => `${key}: ${problem}`));
  return problems.map(({ object: where, message }) => {
    const shown = outsideText('field', message);
    return narrowing.has(message)
      ? {
          feature: `cannot be read, so nothing that it concerns is written: ${shown}`,
          where,
          severity: 'refused',
          row: rows.narrowing,
        }
      : { feature: `cannot be read, and is left out: ${shown}`, where, severity: 'differs', row: rows.malformed };
  });
}

function settingsFeatures({
  settings,
  problems,
  weaker,
  hasSettings,
  labelled,
  namespace,
}: InstallationFacts): readonly UsedFeature[] {
  const found: UsedFeature[] = problemFeatures(settings, problems);
  if (!hasSettings)
    found.push({
      feature: 'argocd-cm is missing: the first start has the defaults, so nothing is ignored or excluded',
      where: `ConfigMap ${namespace}/argocd-cm`,
      severity: 'info',
      row: rows.missingSettings,
    });
  for (const { object, message, reason } of weaker)
    found.push({ feature: outsideText('field', message), where: object, ...noteFeatures[reason] });
  if (!labelled)
    found.push({
      feature:
        'argocd-cm is not labelled app.kubernetes.io/part-of: argocd. Argo CD does not see it then; this controller does',
      where: `ConfigMap ${namespace}/argocd-cm`,
      severity: 'differs',
      row: rows.cmLabel,
    });
  if (settings.respectRBAC !== 'off')
    found.push({
      feature:
        'kinds that may not be listed are left out of the cache as in Argo CD; here what is left out is never pruned unsaid, and is deleted with its Application',
      where: 'ConfigMap argocd-cm: resource.respectRBAC',
      severity: 'info',
      row: rows.respectRBAC,
    });
  const actions = Object.keys(settings.raw).filter((key) => key.startsWith('resource.customizations.actions.'));
  if (actions.length > 0)
    found.push({
      feature: "resource actions: run by Argo CD's API server, as before",
      where: `ConfigMap argocd-cm: ${actions.join(', ')}`,
      severity: 'info',
      row: rows.actions,
    });
  return found;
}

function customizations({ settings }: InstallationFacts): readonly UsedFeature[] {
  return Object.entries(settings.overrides).flatMap(([kind, override]): UsedFeature[] => {
    const where = `ConfigMap argocd-cm: resource.customizations of ${kind}`;
    return [
      ...(override.healthLua === undefined
        ? []
        : [
            {
              feature: `health script of ${kind}: it runs in Lua 5.4 here`,
              where,
              severity: 'info',
              row: rows.luaHealth,
            } as const,
          ]),
      ...ruleFeatures(override.ignoreDifferences ?? {}, `${where}, ignoreDifferences`),
      ...ruleFeatures(override.ignoreResourceUpdates ?? {}, `${where}, ignoreResourceUpdates`),
    ];
  });
}

/** Options whose effect is worth knowing when the installation sets them. */
const reportedEffects: Readonly<Record<string, Pick<UsedFeature, 'feature' | 'row'>>> = {
  serverSideDiff: { feature: localDiff, row: rows.serverSideDiff },
  hydratorEnabled: {
    feature: 'the source hydrator: commits are made by the controller itself, unless commit.server is set',
    row: rows.hydrator,
  },
  retryLatestRevision: { feature: 'retries of automated syncs take the latest revision', row: rows.retries },
};

/** Options without effect, or of {@link reportedEffects}, that are not at their default. */
function flagFeatures(installation: InstallationFacts): readonly UsedFeature[] {
  return Object.entries(runOptions as Readonly<Record<string, OptionSpec>>).flatMap(([name, spec]): UsedFeature[] => {
    const effect = reportedEffects[name];
    if ((spec.noEffect === undefined && effect === undefined) || isService(spec) || name in renderingOptions) return [];
    const where = whereSet(spec, installation);
    if (where === undefined) return [];
    if (effect !== undefined) return [{ ...effect, where, severity: 'info' }];
    const feature = `--${spec.flag} has no effect: ${spec.noEffect ?? ''}`;
    return [{ feature, where, severity: 'info', row: rows.inert }];
  });
}

/** Location of the setting; undefined if it is not set, or set to its default. */
function whereSet(spec: OptionSpec, { params, settings, workload }: InstallationFacts): string | undefined {
  const differs = (text: string | undefined): boolean =>
    text !== undefined && text.trim() !== '' && text.trim() !== defaultText(spec);
  const [map, key = ''] = spec.key?.split(':') ?? [];
  if (map === 'P' && differs(params[key])) return `ConfigMap argocd-cmd-params-cm: ${key}`;
  if (map === 'C' && differs(settings.raw[key])) return `ConfigMap argocd-cm: ${key}`;
  if (workload === undefined) return undefined;
  if (workload.flags.has(spec.flag)) return `${workload.kind} ${workload.name}: --${spec.flag}`;
  const { env } = spec;
  return env !== undefined && differs(workload.env.get(env)) ? `${workload.kind} ${workload.name}: ${env}` : undefined;
}

function defaultText(spec: OptionSpec): string {
  const value = defaultOf(spec);
  return typeof value === 'object' ? '' : String(value);
}

/** Repo-server settings are reported in one line by `serviceFeatures`. */
function isService({ key = '', flag }: OptionSpec): boolean {
  return /^P:(?:repo|controller\.repo)\.server/.test(key) || flag.startsWith('repo-server');
}

function serviceFeatures({ params }: InstallationFacts): readonly UsedFeature[] {
  const at = (keys: readonly string[]): string => `ConfigMap argocd-cmd-params-cm: ${keys.join(', ')}`;
  const servers = Object.keys(params).filter((key) => /^repo\.server$|^controller\.repo\.server\./.test(key));
  const profiler = 'controller.profile.enabled';
  const found: UsedFeature[] = [];
  if (servers.length > 0)
    found.push({
      feature:
        'the address of the repo-server: it is asked, unless repoServer.address of the chart says "embedded"; without it each replica renders itself',
      where: at(servers),
      severity: 'info',
      row: rows.services,
    });
  if (params[profiler] === 'true')
    found.push({
      feature: `the profiler has no effect: ${inertOptions.profilerFile.noEffect}`,
      where: at([profiler]),
      severity: 'info',
      row: rows.inert,
    });
  return found;
}

function shardingFeatures({ params, clusters, workload }: InstallationFacts): readonly UsedFeature[] {
  const found: UsedFeature[] = [...algorithmFeatures(params, workload)];
  if (isDynamic(workload))
    found.push({
      feature: 'dynamic cluster distribution: set controller.dynamicClusterDistribution of the chart',
      where: `${workload?.kind ?? ''} ${workload?.name ?? ''}`,
      severity: 'info',
      row: rows.dynamic,
    });
  const replicas = workload?.replicas ?? 0;
  for (const { name, server, shard } of clusters) {
    const feature = shard === undefined ? undefined : oddPin(shard, replicas);
    if (feature === undefined) continue;
    found.push({
      feature,
      where: `cluster ${name === '' ? outsideText('url', server) : name}`,
      severity: 'info',
      row: rows.pin,
    });
  }
  return [...found, ...sharedUrls(clusters)];
}

/** 0 replicas means unknown. */
function oddPin(shard: number, replicas: number): string | undefined {
  if (shard < 0) return `pinned to shard ${shard}, which counts as no pin`;
  return replicas > 0 && shard >= replicas ? `pinned to shard ${shard} of ${replicas}: it is on shard 0` : undefined;
}

function algorithmFeatures(
  params: InstallationFacts['params'],
  workload: InstallationFacts['workload'],
): readonly UsedFeature[] {
  const key = 'controller.sharding.algorithm';
  const env = 'ARGOCD_CONTROLLER_SHARDING_ALGORITHM';
  const method = params[key] ?? workload?.env.get(env) ?? '';
  const { algorithm, known } = parseAlgorithm(method === '' ? 'legacy' : method);
  if (known && algorithm !== 'consistent-hashing') return [];
  const feature = known
    ? 'clusters may be on other shards than now'
    : `"${method}" is not known: legacy is used, as by Argo CD`;
  const where = params[key] === undefined ? env : `ConfigMap argocd-cmd-params-cm: ${key}`;
  return [{ feature, where, severity: 'info', row: rows.consistentHashing }];
}

function isDynamic(workload: InstallationFacts['workload']): boolean {
  if (workload === undefined) return false;
  return (
    isTrue(workload.env.get('ARGOCD_ENABLE_DYNAMIC_CLUSTER_DISTRIBUTION')) ||
    workload.flags.has('dynamic-cluster-distribution-enabled')
  );
}

function sharedUrls(clusters: readonly Cluster[]): readonly UsedFeature[] {
  const byUrl = new Map<string, Cluster[]>();
  for (const cluster of clusters) {
    const same = byUrl.get(clusterKey(cluster.server)) ?? [];
    byUrl.set(clusterKey(cluster.server), [...same, cluster]);
  }
  return [...byUrl]
    .filter(([, same]) => same.length > 1)
    .map(([url, same]) => ({
      feature: `${same.length} Secrets (${same.map(({ name }) => name).join(', ')}) have one URL: ${ruleOf(same)}`,
      where: `cluster ${outsideText('url', url)}`,
      severity: 'differs',
      row: rows.oneUrl,
    }));
}

function ruleOf(same: readonly Cluster[]): string {
  const [chosen] = chooseClusters(same);
  const { name = '', project = '' } = chosen ?? {};
  return project === ''
    ? `that of ${name}, the oldest without a project, counts for all`
    : `that of ${name}, the oldest one, serves project ${project}, and the others have no effect`;
}

function clusterFeatures({
  name,
  server,
  annotations: own,
  labels: given,
  connection,
}: Cluster): readonly UsedFeature[] {
  const found: UsedFeature[] = [];
  const where = `cluster ${name === '' ? outsideText('url', server) : name}`;
  const { exec } = connection.credentials;
  if (exec !== undefined)
    found.push({
      feature: `credentials from ${exec.command === '' ? 'a program without a name' : exec.command}: it must be in the image`,
      where,
      severity: 'info',
      row: rows.plugins,
    });
  if (given[labels.autoLabelClusterInfo] === 'true')
    found.push({
      feature:
        'auto-label-cluster-info: the label kubernetes-version is kept up to date only with the right to patch the Secret (rbac.extraRoleRules of the chart)',
      where,
      severity: 'differs',
      row: rows.versionLabel,
    });
  if (isTrue(own[annotations.skipReconcile]))
    found.push({
      feature: 'left alone by both controllers (skip-reconcile); compared here all the same',
      where,
      severity: 'info',
      row: rows.skipReconcile,
    });
  return found;
}
