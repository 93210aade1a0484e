/**
 * desired: what the sources say. One request carries all sources of an application and what else its manifests depend on, as plain values; the
 * answer has the manifests of each, with the commit that they were rendered from. `fetch` brings files (Git, chart repositories, registries), `generate` renders them;
 * Argo CD's repo-server could be asked with the same request.
 */
export { startCommandHelper } from './command/helper.ts';
export type { CommandHelper, CommandHelperDeps } from './command/helper.ts';
export { createInProcessRunner } from './command/in-process.ts';
export type { CommandOptions, CommandResult, CommandRunner } from './command/types.ts';
export {
  CommandError,
  DesiredError,
  KeyringUnavailable,
  ManifestError,
  MirrorLost,
  PluginFailed,
  RepositoryError,
  RevisionNotFound,
  SizeLimitExceeded,
  SourceFailed,
  SourcePathError,
  ToolFailed,
  ToolMissing,
  UnsafeInput,
  UnsupportedSource,
} from './errors.ts';
export type { CommandErrorCode } from './errors.ts';
export { defaultLimits } from './limits.ts';
export type { DesiredLimits } from './limits.ts';
export type { PublicKeys } from './fetch/keyring.ts';
export type { GitTrust } from './fetch/git.ts';
export { pluginConfigOf } from './generate/plugins.ts';
export type { PluginConfig } from './generate/plugins.ts';
export { azureWorkloadOf } from './fetch/cloud-tokens.ts';
export type { AzureWorkload } from './fetch/cloud-tokens.ts';
export { proxiesOf } from './fetch/web.ts';
export type { Proxies } from './fetch/web.ts';
export { generatorOptions } from './options.ts';
export { createToolLookup } from './command/lookup.ts';
export type { Tool, ToolLookup, ToolName } from './generate/tools.ts';
export { createDesiredSource } from './source.ts';
export type { DesiredSourceDeps } from './source.ts';
export type {
  Capabilities,
  DesiredSource,
  GeneratorOptions,
  KnownRepositories,
  Manifests,
  ManifestsRequest,
  RequestedSource,
  SourceManifests,
  SourceType,
  Verified,
  VerifyRequest,
} from './types.ts';
