import { describe, expect, it } from '@jest/globals';
import { defaultLimits, pluginConfigOf } from '#desired';
import type { DesiredLimits } from '#desired';
import { readArgs } from '../options/args.ts';
import type { OptionSpec } from '../options/args.ts';
import { renderingOptions } from '../options/rendering-options.ts';
import { runOptions } from '../options/run-options.ts';
import { desiredLimits, pluginExclusions } from './desired-limits.ts';

const limitsWith = (env: Readonly<Record<string, string>>): DesiredLimits => ({
  ...defaultLimits,
  ...desiredLimits(readArgs(runOptions, [], env).config, 0),
});
const usual = limitsWith({});
const retry = defaultLimits.gitRetry;
const hour = 3_600_000;

/** Variables of Argo CD's repo-server, and the limits that each changes. */
const effects: readonly (readonly [env: string, value: string, changed: Partial<DesiredLimits>])[] = [
  ['ARGOCD_EXEC_TIMEOUT', '3m', { toolTimeoutMs: 180_000, deadlineMs: 180_000, fetchTimeoutMs: 180_000 }],
  ['ARGOCD_EXEC_TIMEOUT', '20s', { toolTimeoutMs: 20_000, fetchTimeoutMs: 20_000 }],
  ['ARGOCD_EXEC_TIMEOUT', '0', { toolTimeoutMs: 4 * hour, deadlineMs: 4 * hour, fetchTimeoutMs: 4 * hour }],
  ['ARGOCD_EXEC_FATAL_TIMEOUT', '30s', { gitKillDelayMs: 30_000 }],
  ['ARGOCD_GIT_ATTEMPTS_COUNT', '5', { gitRetry: { ...retry, attempts: 5 } }],
  ['ARGOCD_GIT_ATTEMPTS_COUNT', '-3', {}],
  ['ARGOCD_GIT_RETRY_DURATION', '1s', { gitRetry: { ...retry, firstDelayMs: 1000 } }],
  ['ARGOCD_GIT_RETRY_FACTOR', '3', { gitRetry: { ...retry, factor: 3 } }],
  ['ARGOCD_GIT_RETRY_MAX_DURATION', '1m', { gitRetry: { ...retry, maxDelayMs: 60_000 } }],
  ['ARGOCD_GIT_REQUEST_TIMEOUT', '15s', { gitRequestTimeoutMs: 15_000 }],
  ['ARGOCD_GIT_LS_REMOTE_PARALLELISM_LIMIT', '3', { listParallelism: 3 }],
  ['ARGOCD_GITHUB_APP_CREDS_EXPIRATION_DURATION', '7', { githubTokenMs: 420_000 }],
  ['ARGOCD_AZURE_SERVICE_PRINCIPAL_CREDS_EXPIRATION_DURATION', '7', { azureTokenMs: 420_000 }],
  ['ARGOCD_REPO_SERVER_HELM_MANIFEST_MAX_INDEX_SIZE', '1G', { maxIndexBytes: 1_000_000_000 }],
  ['ARGOCD_REPO_SERVER_HELM_MANIFEST_MAX_EXTRACTED_SIZE', '1Gi', { maxChartBytes: 1024 ** 3 }],
  ['ARGOCD_REPO_SERVER_OCI_MANIFEST_MAX_EXTRACTED_SIZE', '1.5Mi', { maxArtifactBytes: 1_572_864 }],
  ['ARGOCD_REPO_SERVER_OCI_LAYER_MEDIA_TYPES', 'a/tar, b/tar', { ociMediaTypes: ['a/tar', 'b/tar'] }],
  ['ARGOCD_REPO_SERVER_MAX_COMBINED_DIRECTORY_MANIFESTS_SIZE', '20M', { maxManifestBytes: 20_000_000 }],
  ['ARGOCD_REPO_SERVER_MAX_COMBINED_DIRECTORY_MANIFESTS_SIZE', '0', { maxManifestBytes: 2 ** 31 - 1 }],
  ['ARGOCD_REPO_SERVER_PARALLELISM_LIMIT', '2', { parallelism: 2 }],
  ['ARGOCD_REPO_CACHE_EXPIRATION', '1h', { renderedAgeMs: hour }],
  ['ARGOCD_REPO_CACHE_EXPIRATION', '0', { renderedAgeMs: 0, renderedDiskBytes: 0, cacheBytes: 0 }],
  ['ARGOCD_RECONCILIATION_TIMEOUT', '30s', { refsTtlMs: 30_000 }],
];

/** Variables whose effect is not a limit, with the test that shows it. */
const elsewhere: ReadonlySet<string> = new Set([
  'ARGOCD_GIT_MODULES_ENABLED',
  'ARGOCD_HELM_USER_AGENT',
  'ARGOCD_REPO_SERVER_PLUGIN_TAR_EXCLUSIONS',
  'ARGOCD_REPO_SERVER_PLUGIN_USE_MANIFEST_GENERATE_PATHS',
]);

describe('variables of the repo-server where the controller renders', () => {
  it.each(effects)('%s=%s', (env, value, changed) => {
    expect(limitsWith({ [env]: value })).toEqual({ ...usual, ...changed });
    expect(readArgs(runOptions, [], { [env]: value }).warnings).toEqual([]);
  });

  it('exclude files from plugins by several globs', () => {
    const env = { ARGOCD_REPO_SERVER_PLUGIN_TAR_EXCLUSIONS: '.git/*; *.md;' };
    expect(pluginExclusions(readArgs(runOptions, [], env).config.pluginTarExclusions)).toEqual(['.git/*', '*.md']);
  });

  it('send plugins only the directory of manifest-generate-paths', () => {
    const env = { ARGOCD_REPO_SERVER_PLUGIN_USE_MANIFEST_GENERATE_PATHS: 'true' };
    expect(readArgs(runOptions, [], env)).toMatchObject({ config: { pluginGeneratePaths: true }, warnings: [] });
    expect(pluginConfigOf(env).usesGeneratePaths).toBe(true);
    expect(pluginConfigOf({}).usesGeneratePaths).toBe(false);
  });

  it('switch submodules off and name the user agent', () => {
    const env = { ARGOCD_GIT_MODULES_ENABLED: 'false', ARGOCD_HELM_USER_AGENT: 'company/1' };
    expect(readArgs(runOptions, [], env).config).toMatchObject({ gitModules: false, helmUserAgent: 'company/1' });
  });

  it('have an effect or say why not', () => {
    const tested = new Set(effects.map(([env]) => env));
    const silent = Object.values(renderingOptions as Readonly<Record<string, OptionSpec>>).filter(
      ({ env = '', noEffect }) => noEffect === undefined && !tested.has(env) && !elsewhere.has(env),
    );
    expect(silent.map(({ env }) => env)).toEqual([]);
  });

  it('keep the defaults of Driftless unless they are set', () => {
    expect(usual).toMatchObject({
      toolTimeoutMs: 90_000,
      deadlineMs: 60_000,
      fetchTimeoutMs: 600_000,
      parallelism: 64,
    });
  });

  it('leave the answer its own time if that is longer', () => {
    const env = { ARGOCD_EXEC_TIMEOUT: '3m', ARGOCD_APPLICATION_CONTROLLER_REPO_SERVER_TIMEOUT_SECONDS: '300' };
    expect(limitsWith(env)).toMatchObject({ toolTimeoutMs: 180_000, deadlineMs: 300_000 });
  });

  const names = [...new Set(effects.map(([env]) => env))].filter((env) => env !== 'ARGOCD_RECONCILIATION_TIMEOUT');
  const hostile = ['x', '-1s', '1e99', '9999999999999999999999', '1h; rm -rf /', '\u0000', 'NaN', '2540400h', '9E'];
  const values = names.filter((env) => !env.endsWith('MEDIA_TYPES'));
  const options: readonly OptionSpec[] = Object.values(runOptions);
  const narrowing = values.filter((env) => options.some((option) => option.env === env && option.narrows === true));

  it.each(values.filter((env) => !narrowing.includes(env)))('%s ignores hostile values with a warning', (env) => {
    for (const value of hostile) {
      expect([value, limitsWith({ [env]: value })]).toEqual([value, usual]);
      expect(readArgs(runOptions, [], { [env]: value }).warnings).toEqual([
        expect.stringMatching(new RegExp(`^ignoring ${env}: must `)),
      ]);
    }
  });

  // In Argo CD, too, the repo-server does not start.
  it.each(narrowing)('%s ends the start with a hostile value', (env) => {
    for (const value of hostile) expect(() => limitsWith({ [env]: value })).toThrow(new RegExp(`^${env}: must `));
  });

  it('refuse a User-Agent that is no text of a header', () => {
    for (const value of ['a\r\nx: y', 'ü', 'a'.repeat(257)]) {
      const { config, warnings } = readArgs(runOptions, [], { ARGOCD_HELM_USER_AGENT: value });
      expect([config.helmUserAgent, warnings.length]).toEqual(['', 1]);
    }
  });
});
