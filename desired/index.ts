/**
 * desired: what the sources say. One interface for the embedded generator (desired/local) and, later, Argo CD's repo-server: revision in,
 * manifests out, with the commit that they were rendered from inside the answer.
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
  RepositoryError,
  RevisionNotFound,
  SizeLimitExceeded,
  SourcePathError,
  UnsafeInput,
  UnsupportedSource,
} from './errors.ts';
export type { CommandErrorCode } from './errors.ts';
export { defaultLimits } from './local/limits.ts';
export type { DesiredLimits } from './local/limits.ts';
export type { PublicKeys } from './local/keyring.ts';
export type { GitTrust } from './local/git.ts';
export { createDesiredSource } from './local/source.ts';
export type { DesiredSourceDeps } from './local/source.ts';
export type { DesiredSource, Manifests, ManifestsRequest, Verified, VerifyRequest } from './types.ts';
