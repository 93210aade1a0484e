/**
 * desired: renders sources. One request carries all sources of an application and everything else
 * its manifests depend on, as plain values; the answer has the manifests of each source, with the
 * commit that they were rendered from. `fetch` gets files (Git, chart repositories, registries),
 * `generate` renders them in `render`'s isolated processes; `remote` sends the same request to Argo
 * CD's repo-server instead.
 */
export { startCommandHelper } from './command/helper.ts';
export type { CommandHelper } from './command/helper.ts';
export { createInProcessRunner } from './command/in-process.ts';
export type { CommandOptions, CommandRunner } from './command/types.ts';
export {
  CommandError,
  DesiredError,
  KeyringUnavailable,
  ManifestError,
  RepoServerError,
  RepositoryError,
  RevisionNotFound,
  SizeLimitExceeded,
  SourceFailed,
  SourcePathError,
  ToolFailed,
  ToolMissing,
  UnsafeInput,
} from './errors.ts';
export { refuseEncrypted } from './decrypt/file-decryption.ts';
export { isUnreachable } from './failures.ts';
export { commitFiles, readDirectory } from './local-folder.ts';
export type { FolderBounds, LocalFile } from './local-folder.ts';
export { defaultLimits } from './limits.ts';
export type { DesiredLimits, SourceOptionNames } from './limits.ts';
export type { PublicKeys } from './fetch/signatures/keyring.ts';
export { archiveFiles } from './fetch/files/archive.ts';
export { branchFolder } from './hydrate/branch-files.ts';
export { defaultCommitMessage } from './hydrate/commit-texts.ts';
export { metadataOf } from './hydrate/dry-commit.ts';
export type { DryCommit, HydratorMetadata } from './hydrate/dry-commit.ts';
export type { HydrationTemplate, HydrationTexts } from './hydrate/hydration-texts.ts';
export type { HydratedPath, HydrationCommit, HydrationCommitter } from './hydrate/types.ts';
export { pluginConfigOf } from './generate/plugins/plugins.ts';
export type { PluginConfig } from './generate/plugins/plugins.ts';
export { azureWorkloadOf } from './fetch/credentials/cloud-tokens.ts';
export type { AzureWorkload } from './fetch/credentials/cloud-tokens.ts';
export { invalidNetworks } from './fetch/network/denied-networks.ts';
export type { SourceReach } from './fetch/network/denied-networks.ts';
export { proxySettingsOf } from './fetch/network/web-client.ts';
export type { ProxySettings } from './fetch/network/web-client.ts';
export { observeSource, shownRepositoryUrl } from './observed.ts';
export type { RepositoryReport } from './observed.ts';
export { generatorOptions } from './options.ts';
export { createToolLookup } from './command/lookup.ts';
export type { ToolLookup } from './command/lookup.ts';
export { programsFrom } from './render/environment.ts';
export { createInProcessRenderer } from './render/in-process.ts';
export { parseRenderAddress } from './render/address.ts';
export { startLocalRenderer } from './render/local.ts';
export { checkRenderer, createRemoteRenderer } from './render/remote.ts';
export { createRenderServer } from './render/server.ts';
export { RenderService } from './render/service.ts';
export { parserCommand } from './render/parser.ts';
export type { Renderer, RenderRequest } from './render/types.ts';
export { createRemoteSource } from './remote/source.ts';
export type { RemoteSourceDeps } from './remote/source.ts';
export type { RepoServerTls } from './remote/connections.ts';
export { createDesiredSource, createGitCommitter, createServerCommitter, withPlugins } from './assembly.ts';
export type { DesiredSourceDeps } from './assembly.ts';
export type {
  CommitFacts,
  TargetCapabilities,
  DesiredSource,
  GeneratorOptions,
  KnownRepositories,
  CachePolicy,
  Manifests,
  ManifestsRequest,
  RequestedSource,
  SignatureDemand,
  SourceManifests,
  SourceType,
  VerifiedRevision,
  VerifyRequest,
  WatchedPaths,
} from './types.ts';
