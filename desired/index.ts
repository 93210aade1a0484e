/**
 * desired: what the sources say. One request carries all sources of an application and what else its manifests depend on, as plain values; the
 * answer has the manifests of each, with the commit that they were rendered from. `fetch` brings files (Git, chart repositories, registries), `generate` renders them;
 * `remote` asks Argo CD's repo-server with the same request instead.
 */
export { startCommandHelper } from './command/helper.ts';
export type { CommandHelper, CommandHelperDeps } from './command/helper.ts';
export { createInProcessRunner } from './command/in-process.ts';
export type { CommandOptions, CommandResult, CommandRunner } from './command/types.ts';
export {
  CertificatesUnusable,
  CommandError,
  DesiredError,
  KeyringUnavailable,
  ManifestError,
  MirrorLost,
  PluginFailed,
  RepoServerError,
  RepositoryError,
  RevisionNotFound,
  SizeLimitExceeded,
  SourceFailed,
  SourcePathError,
  ToolFailed,
  ToolMissing,
  UnsafeInput,
  UnsupportedSource,
  WrongRevision,
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
export { faultyNetworks } from './fetch/denied-networks.ts';
export { proxiesOf } from './fetch/web.ts';
export type { Proxies } from './fetch/web.ts';
export { generatorOptions } from './options.ts';
export { createToolLookup } from './command/lookup.ts';
export type { Tool, ToolLookup, ToolName } from './generate/tools.ts';
export { createRemoteSource } from './remote/source.ts';
export type { RemoteSourceDeps } from './remote/source.ts';
export type { RepoServerTls } from './remote/connections.ts';
export { createDesiredSource } from './source.ts';
export { parserProgram } from './command/parse-process.ts';
export type { DesiredSourceDeps } from './source.ts';
export type {
  Capabilities,
  DesiredSource,
  GeneratorOptions,
  KnownRepositories,
  Manifests,
  ManifestsRequest,
  RequestedSource,
  SignatureDemand,
  SourceManifests,
  SourceType,
  Verified,
  VerifyRequest,
  WatchedPaths,
} from './types.ts';
