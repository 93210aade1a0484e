import { describe, expect, it } from '@jest/globals';
import { readArgs } from './args.ts';
import type { OptionSpec } from './args.ts';
import { runOptions } from './run-options.ts';

const options: Readonly<Record<string, OptionSpec>> = runOptions;

/** Texts of every kind; those that an option can read are no faults. */
const texts = ['\uFFFD', 'maybe', '{', '-', ',', ' , ', '1e999', 'True ', '10 MB', '-5', 'Strict', '0x10', '5 minutes'];

/** Why the default of an option permits no more than its other values. */
const harmless: Readonly<Record<string, readonly string[]>> = {
  'when, not what': [
    ...['appResync', 'appHardResync', 'appResyncJitter', 'statusProcessors', 'operationProcessors', 'wqBucketSize'],
    ...[
      'selfHealTimeout',
      'selfHealBackoffTimeout',
      'selfHealBackoffFactor',
      'selfHealBackoffCap',
      'selfHealBackoffCooldown',
    ],
    ...[
      'syncTimeout',
      'kubectlParallelism',
      'wqBucketQps',
      'wqCooldown',
      'wqBaseDelay',
      'wqMaxDelay',
      'wqBackoffFactor',
    ],
    ...['syncWaveDelay', 'clusterInfoInterval', 'repoErrorGracePeriod', 'hydrationProcessors', 'retryLatestRevision'],
    ...['pauseAfterFailures', 'pauseMinutes', 'pauseRequests', 'quarantineAfter', 'shadowGrace'],
  ],
  'a rule that takes too long leaves its resource undecided': ['jqTimeout'],
  'how requests are made': [
    ...['repoServerTimeout', 'grpcTxtServiceConfig', 'grpcMaxSizeMb', 'execTimeout', 'execFatalTimeout', 'gitAttempts'],
    ...['gitRetryDuration', 'gitRetryMaxDuration', 'gitRetryFactor', 'gitRequestTimeout', 'gitLsRemoteParallelism'],
    ...[
      'githubAppExpiration',
      'azurePrincipalExpiration',
      'helmUserAgent',
      'renderParallelism',
      'repositoryHostParallelism',
    ],
    ...['k8sClientQps', 'k8sClientBurst', 'k8sClientMaxIdleConnections', 'k8sTcpTimeout', 'k8sTcpKeepalive'],
    ...[
      'k8sTcpIdleTimeout',
      'k8sTlsHandshakeTimeout',
      'k8sServerSideTimeout',
      'k8sClientRetryMax',
      'k8sClientRetryBaseBackoff',
    ],
  ],
  'caches and memory': [
    ...['helmIndexCache', 'helmIndexSize', 'repoCacheExpiration', 'revisionCacheLock', 'appStateCacheExpiration'],
    ...['defaultCacheExpiration', 'clusterCacheResync', 'clusterCacheWatchResync', 'clusterCacheListPageSize'],
    ...['clusterCacheListSemaphore', 'clusterCacheAttemptLimit', 'clusterSyncRetryTimeout', 'clusterCacheBatchEvents'],
    ...[
      'clusterCacheEventsInterval',
      'clusterCacheListPageBufferSize',
      'clusterCacheRetryUseBackoff',
      'lostClusterCache',
    ],
    ...[
      'clusterMemory',
      'clusterObject',
      'renderInput',
      'repositoryCacheSize',
      'repositoryCacheAge',
      'metricsCacheExpiration',
    ],
  ],
  'what is published and logged': [
    ...['logFormat', 'logLevel', 'metricsApplicationLabels', 'metricsApplicationConditions', 'metricsClusterLabels'],
    ...['persistResourceHealth', 'enableK8sEvent', 'otlpInsecure', 'otlpHeaders', 'otlpAttrs', 'otlpSampleRatio'],
    ...['sentinel', 'redisCompress', 'redisRetryCount', 'treeShardSize'],
  ],
  'which replica, not what it writes': [
    ...[
      'shardingMethod',
      'dynamicClusterDistribution',
      'replicas',
      'shard',
      'heartbeat',
      'clusterSplit',
      'clusterWeights',
    ],
  ],
  'the default permits less': [
    ...[
      'applicationNamespaces',
      'repoServerPlaintext',
      'hydratorEnabled',
      'allowLocalSources',
      'allowLocalRepositories',
    ],
    ...['dashboard', 'apiPort', 'rendererUid', 'repoServerPluginsOnly', 'outOfBoundsSymlinks', 'ociMediaTypes'],
  ],
  'the files of a plugin': ['pluginTarExclusions', 'pluginGeneratePaths'],
  'without effect': [
    ...['helmExtractedUnlimited', 'ociExtractedUnlimited', 'builtinGitConfig', 'hiddenDirectories'],
    ...['streamedTarSize', 'streamedExtractedSize'],
  ],
};

/** The outcome of a start with this variable. */
function start(name: string, text: string): 'refused' | 'ignored' | 'read' {
  try {
    const { warnings } = readArgs(runOptions, [], { [options[name]?.env ?? '']: text });
    return warnings.some((line) => line.startsWith('ignoring ')) ? 'ignored' : 'read';
  } catch {
    return 'refused';
  }
}

const names = Object.keys(options).filter((name) => options[name]?.env !== undefined);
const rows = names.flatMap((name) => texts.map((text) => [name, text] as const));

describe('an environment variable, as filled from argocd-cmd-params-cm', () => {
  it(`never falls back to a default that permits more (${rows.length} values)`, () => {
    const fallsBack = new Set(rows.filter(([name, text]) => start(name, text) === 'ignored').map(([name]) => name));
    const reasons = new Set(Object.values(harmless).flat());
    expect([...fallsBack].filter((name) => !reasons.has(name))).toEqual([]);
    // The table names nothing else.
    expect([...reasons].filter((name) => options[name]?.env === undefined || options[name].narrows === true)).toEqual(
      [],
    );
  });

  it('that narrows and cannot be read ends the start', () => {
    const narrow = names.filter((name) => options[name]?.narrows === true);
    expect(narrow).toContain('serverSideDiff');
    for (const name of narrow) {
      const outcomes = texts.map((text) => start(name, text));
      expect([name, outcomes.includes('refused'), outcomes.includes('ignored')]).toEqual([name, true, false]);
    }
  });
});
