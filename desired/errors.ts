import { DriftlessError, messageOf } from '#base';
import type { ErrorDetails, ErrorFields } from '#base';

/** Why a program gave no result. */
export type CommandErrorCode =
  'COMMAND_NOT_FOUND' | 'COMMAND_TIMEOUT' | 'COMMAND_OUTPUT' | 'COMMAND_MEMORY' | 'COMMAND_DISK' | 'COMMAND_FAILED';

/**
 * A program could not be run to its end: it is not installed, took too long, printed too much, or the helper process died under it.
 * Operators look at the image (is git on PATH?) or at the limits.
 */
export class CommandError extends DriftlessError {
  constructor(code: CommandErrorCode, message: string, details: ErrorDetails = {}) {
    super(code, message, { retry: code === 'COMMAND_NOT_FOUND' ? 'never' : 'backoff', ...details });
  }
}

/** The base of everything that `desired` reports about a source. Messages are Argo CD's where it has one, and hold no credentials. */
export class DesiredError extends DriftlessError {}

/** One source of a request could not be rendered: which one, and with the reason as its cause. */
export class SourceFailed extends DesiredError {
  /** Its place in the request, from 0. */
  readonly index: number;

  constructor(index: number, cause: unknown) {
    super('DESIRED_SOURCE', messageOf(cause), { cause });
    this.index = index;
  }
}

/** The branch, tag or commit is not there. The user corrects targetRevision, or pushes it. */
export class RevisionNotFound extends DesiredError {
  constructor(revision: string, details: ErrorDetails = {}) {
    super('DESIRED_REVISION', `unable to resolve '${revision}' to a commit SHA: revision not found`, details);
  }
}

/** The repository cannot be reached, does not exist, or refuses the credentials. */
export class RepositoryError extends DesiredError {
  constructor(message: string, details: ErrorDetails = {}) {
    super('DESIRED_REPOSITORY', message, details);
  }
}

/** The mirror of a repository on our own disk lost objects. It has been thrown away: the next attempt fetches anew. */
export class MirrorLost extends DesiredError {
  constructor(what: string, cause: string) {
    super('DESIRED_MIRROR', `cannot read ${what} from the local mirror of the repository: ${cause}`);
  }
}

/** A URL, revision or path that is refused before anything is run with it (T-SEC-30, T-SEC-31). */
export class UnsafeInput extends DesiredError {
  constructor(message: string, fields: ErrorFields = {}) {
    super('DESIRED_UNSAFE', message, { retry: 'never', fields });
  }
}

/** The path of the source is missing, is a file, or leads out of the repository. */
export class SourcePathError extends DesiredError {
  constructor(message: string) {
    super('DESIRED_PATH', message);
  }
}

/** A manifest that cannot be read, or lacks what every object must have. */
export class ManifestError extends DesiredError {
  constructor(message: string, cause?: unknown) {
    super('DESIRED_MANIFEST', message, cause === undefined ? {} : { cause });
  }
}

/** Files, or the repository itself, are bigger than the limits allow (T-SEC-40). */
export class SizeLimitExceeded extends DesiredError {
  constructor(message: string) {
    super('DESIRED_LIMIT', message);
  }
}

/** A source failed several times in a row, and is left alone for a while. The user reads what it failed with; a new commit is tried at once. */
export class GenerationPaused extends DesiredError {
  constructor(lastFailure: string) {
    super('DESIRED_PAUSED', `Manifest generation error (cached): ${lastFailure}`);
  }
}

/** A source that only Argo CD's repo-server can render today. */
export class UnsupportedSource extends DesiredError {
  constructor(what: string) {
    super('DESIRED_UNSUPPORTED', `${what}: not supported by the embedded manifest generator yet`, { retry: 'never' });
  }
}

/** A program that renders sources is not on this machine, or is too old. */
export class ToolMissing extends DesiredError {
  constructor(message: string) {
    super('DESIRED_TOOL', message, { retry: 'never' });
  }
}

/** A program that renders sources ended with an error; its own words, without credentials and without paths of this machine. */
export class ToolFailed extends DesiredError {
  constructor(message: string) {
    super('DESIRED_RENDER', message);
  }
}

/** A config management plugin gave no answer, or an error. Operators look at the log of its sidecar. */
export class PluginFailed extends DesiredError {
  constructor(plugin: string, reason: string) {
    super('DESIRED_PLUGIN', `the plugin ${plugin}: ${reason}`);
  }
}

/** Argo CD's repo-server could not be asked, or could not render. The message is Go's: it stands in conditions word for word. */
export class RepoServerError extends DesiredError {
  constructor(code: string, reason: string) {
    super('DESIRED_REMOTE', `rpc error: code = ${code} desc = ${reason}`);
  }
}

/** The certificates with which the repo-server is to be reached are missing or no good. Operators look at what is mounted. */
export class CertificatesUnusable extends DesiredError {
  constructor(message: string, cause?: unknown) {
    super('DESIRED_REMOTE_TLS', message, cause === undefined ? {} : { cause });
  }
}

/** The repo-server answered for another revision than the one it was asked for, or of a name that moved meanwhile: nothing of it is used. */
export class WrongRevision extends DesiredError {
  constructor(message: string) {
    super('DESIRED_WRONG_REVISION', message);
  }
}

/** Signatures are demanded, and gpg is not on this machine: nothing can be verified, so nothing is good. */
export class KeyringUnavailable extends DesiredError {
  constructor(cause: unknown) {
    super(
      'DESIRED_GPG',
      'the project demands signed commits, and they cannot be verified: gpg is not installed on the machine of this controller, or not on PATH',
      { cause, retry: 'never' },
    );
  }
}
