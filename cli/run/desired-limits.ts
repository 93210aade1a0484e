import { UsageError } from '#base';
import { invalidNetworks } from '#desired';
import type { DesiredLimits } from '#desired';
import { runOptions } from '../options/run-options.ts';
import type { RunConfig } from '../options/run-options.ts';
import { inputMemory, programMemory, renderedMemory } from './memory.ts';

/** Stands for "no timeout" and "no limit": every wait has an end. */
const longestRunMs = 4 * 3_600_000;
const unlimitedBytes = 2 ** 31 - 1;

/** Limits for sources that this process renders. */
export function desiredLimits(config: RunConfig, memoryBytes: number, heapBytes = Infinity): Partial<DesiredLimits> {
  return {
    ...runTimes(config),
    ...gitLimits(config),
    ...sizes(config),
    ...programMemory(memoryBytes, { isRendererRemote: config.renderer !== '' }),
    ...inputMemory(config.renderInput, memoryBytes),
    ...renderedMemory(heapBytes),
    parallelism: config.renderParallelism,
    hostParallelism: config.repositoryHostParallelism,
    deniedNetworks: validNetworks(config.deniedNetworks),
    mirrorDiskBytes: config.repositoryCacheSize * 1024 * 1024,
    mirrorAgeMs: config.repositoryCacheAge,
    renderedAgeMs: config.repoCacheExpiration,
    ...(config.repoCacheExpiration === 0 ? { renderedDiskBytes: 0, cacheBytes: 0 } : {}),
    pauseAfterFailures: config.pauseAfterFailures,
    pauseMs: config.pauseMinutes * 60_000,
    pauseRequests: config.pauseRequests,
  };
}

/**
 * The answer's deadline must leave a program its time: in Argo CD, a program outlives the request
 * that timed out, and the next request finds its result.
 */
function runTimes({ execTimeout, repoServerTimeout }: RunConfig): Partial<DesiredLimits> {
  const toolTimeoutMs = execTimeout === 0 ? longestRunMs : execTimeout;
  const isChanged = execTimeout !== runOptions.execTimeout.default;
  const answerMs = repoServerTimeout > 0 ? { deadlineMs: repoServerTimeout } : {};
  if (!isChanged) return { toolTimeoutMs, ...answerMs };
  const { default: defaultAnswerMs } = runOptions.repoServerTimeout;
  const deadlineMs = Math.max(toolTimeoutMs, repoServerTimeout > 0 ? repoServerTimeout : defaultAnswerMs);
  return { toolTimeoutMs, deadlineMs, fetchTimeoutMs: toolTimeoutMs };
}

function gitLimits(config: RunConfig): Partial<DesiredLimits> {
  const { appResync } = config;
  return {
    // Argo CD's repo-server reads the same variable as the controller.
    ...(appResync > 0 && appResync !== runOptions.appResync.default ? { refsTtlMs: appResync } : {}),
    gitKillDelayMs: config.execFatalTimeout,
    gitRetry: {
      attempts: Math.max(1, config.gitAttempts),
      firstDelayMs: config.gitRetryDuration,
      factor: config.gitRetryFactor,
      maxDelayMs: config.gitRetryMaxDuration,
    },
    gitRequestTimeoutMs: config.gitRequestTimeout,
    listParallelism: config.gitLsRemoteParallelism,
    githubTokenMs: config.githubAppExpiration * 60_000,
    azureTokenMs: config.azurePrincipalExpiration * 60_000,
  };
}

function sizes(config: RunConfig): Partial<DesiredLimits> {
  return {
    maxManifestBytes: config.directoryManifestsSize === 0 ? unlimitedBytes : config.directoryManifestsSize,
    maxIndexBytes: config.helmIndexSize,
    maxChartBytes: config.helmExtractedSize,
    maxArtifactBytes: config.ociExtractedSize,
    ociMediaTypes: config.ociMediaTypes,
  };
}

/** The variable holds several globs in one text. */
export function pluginExclusions(given: readonly string[]): readonly string[] {
  return given.flatMap((text) => text.split(';')).flatMap((glob) => (glob.trim() === '' ? [] : [glob.trim()]));
}

function validNetworks(given: readonly string[]): readonly string[] {
  const [faulty] = invalidNetworks(given);
  if (faulty === undefined) return given;
  throw new UsageError(`--denied-networks: must be a CIDR such as 10.0.0.0/8, or metadata, not "${faulty}"`);
}
