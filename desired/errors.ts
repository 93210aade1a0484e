import { DriftlessError, messageOf, outsideText } from '#base';
import type { ErrorDetails, ErrorFields } from '#base';

/** Why a program gave no result. */
export type CommandErrorCode =
  'COMMAND_NOT_FOUND' | 'COMMAND_TIMEOUT' | 'COMMAND_OUTPUT' | 'COMMAND_MEMORY' | 'COMMAND_DISK' | 'COMMAND_FAILED';

/**
 * A program did not finish: it is not installed, took too long, printed too much, or the helper
 * process died. Operators check the image (is git on PATH?) or the limits.
 */
export class CommandError extends DriftlessError {
  constructor(code: CommandErrorCode, message: string, details: ErrorDetails = {}) {
    super(code, message, { retry: code === 'COMMAND_NOT_FOUND' ? 'never' : 'backoff', ...details });
  }
}

/**
 * The base class of all errors about a source. Messages are Argo CD's if it has one, and contain no
 * credentials.
 */
export class DesiredError extends DriftlessError {}

/** One source of a request could not be rendered. The cause has the reason. */
export class SourceFailed extends DesiredError {
  /** The index of the source in the request. */
  readonly index: number;

  constructor(index: number, cause: unknown) {
    super('DESIRED_SOURCE', messageOf(cause), { cause });
    this.index = index;
  }
}

/**
 * The branch, tag, commit or version does not exist. The user corrects targetRevision or pushes it.
 */
export class RevisionNotFound extends DesiredError {
  constructor(
    revision: string,
    details: ErrorDetails = {},
    message = `unable to resolve '${revision}' to a commit SHA: revision not found`,
  ) {
    super('DESIRED_REVISION', message, details);
  }
}

/** The repository cannot be reached, does not exist, or refuses the credentials. */
export class RepositoryError extends DesiredError {
  constructor(message: string, details: ErrorDetails = {}) {
    super('DESIRED_REPOSITORY', message, details);
  }
}

/**
 * The local mirror of a repository lost objects. It was deleted: the next attempt fetches again.
 */
export class MirrorLost extends DesiredError {
  constructor(what: string, cause: string) {
    super('DESIRED_MIRROR', `cannot read ${what} from the local mirror of the repository: ${cause}`);
  }
}

/** The disk of the cache is full or read-only. Retried; known commits are rendered meanwhile. */
export class CacheUnwritable extends DesiredError {
  constructor(reason: string, { cause, doing = '' }: { readonly cause?: unknown; readonly doing?: string } = {}) {
    const what = `the cache on disk cannot be written: ${reason}. Check the volume and its size`;
    super('DESIRED_DISK', doing === '' ? what : `${doing}: ${what}`, cause === undefined ? {} : { cause });
  }
}

/** A URL, revision or path that is refused before it reaches any program. */
export class UnsafeInput extends DesiredError {
  constructor(message: string, fields: ErrorFields = {}) {
    super('DESIRED_UNSAFE', message, { retry: 'never', fields });
  }
}

/** The path of the source is missing, is a file, or leads out of the repository. */
export class SourcePathError extends DesiredError {
  constructor(message: string, cause?: unknown) {
    super('DESIRED_PATH', message, cause === undefined ? {} : { cause });
  }
}

/** A manifest that cannot be read, or lacks a required field. */
export class ManifestError extends DesiredError {
  constructor(message: string, cause?: unknown) {
    super('DESIRED_MANIFEST', message, cause === undefined ? {} : { cause });
  }
}

/** Files, or the repository itself, exceed the limits. */
export class SizeLimitExceeded extends DesiredError {
  constructor(message: string) {
    super('DESIRED_LIMIT', message);
  }
}

/**
 * A source failed several times in a row, and is not rendered for a while. The user fixes the
 * reported failure; a new commit is tried immediately.
 */
export class GenerationPaused extends DesiredError {
  readonly lastFailure: string;
  /** Wall time of the next attempt; undefined: none by time. */
  readonly until: number | undefined;

  constructor(lastFailure: string, until?: number) {
    super('DESIRED_PAUSED', `Manifest generation error (cached): ${lastFailure}`);
    this.lastFailure = lastFailure;
    this.until = until;
  }
}

const maxDecryptionMessage = 4096;

/**
 * A file that SOPS encrypted cannot be decrypted, or must not be used as it is. Users name a Secret
 * with its key in the AppProject, or encrypt it again. Never contains a decrypted value.
 */
export class DecryptionFailed extends DesiredError {
  constructor(message: string) {
    // Names of keys and recipients are texts of the file.
    super('DESIRED_DECRYPTION', outsideText('field', message).slice(0, maxDecryptionMessage), { retry: 'never' });
  }
}

/** A source that only Argo CD's repo-server can render today. */
export class UnsupportedSource extends DesiredError {
  constructor(what: string) {
    super('DESIRED_UNSUPPORTED', `${what}: not supported by the embedded manifest generator yet`, { retry: 'never' });
  }
}

/** A rendering program is missing or too old. */
export class ToolMissing extends DesiredError {
  constructor(message: string) {
    super('DESIRED_TOOL', message, { retry: 'never' });
  }
}

/**
 * The renderer cannot be reached, was lost during a request, or broke the protocol. The source is
 * not at fault: it is retried. Operators check the renderer's container or process.
 */
export class RendererUnavailable extends DesiredError {
  constructor(reason: string, cause?: unknown) {
    super('DESIRED_RENDERER', `the renderer is unavailable: ${reason}`, cause === undefined ? {} : { cause });
  }
}

/**
 * A rendering program failed. The message is its own, without credentials and without paths of this
 * machine.
 */
export class ToolFailed extends DesiredError {
  constructor(message: string) {
    super('DESIRED_RENDER', message);
  }
}

/** A config management plugin failed or gave no answer. Operators check the log of its sidecar. */
export class PluginFailed extends DesiredError {
  constructor(plugin: string, reason: string) {
    super('DESIRED_PLUGIN', `the plugin ${plugin}: ${reason}`);
  }
}

/**
 * Argo CD's repo-server could not be reached, or could not render. The message is Go's: conditions
 * show it verbatim.
 */
export class RepoServerError extends DesiredError {
  /** It did not answer. */
  readonly isUnanswered: boolean;

  constructor(code: string, reason: string) {
    super('DESIRED_REMOTE', `rpc error: code = ${code} desc = ${reason}`);
    this.isUnanswered = code === 'Unavailable' || code === 'DeadlineExceeded';
  }
}

/**
 * The certificates for the repo-server are missing or invalid. Operators check the mounted files.
 */
export class CertificatesUnusable extends DesiredError {
  constructor(message: string, cause?: unknown) {
    super('DESIRED_REMOTE_TLS', message, cause === undefined ? {} : { cause });
  }
}

/**
 * The repo-server answered for another revision than requested, or for a name that moved meanwhile.
 * The answer is discarded.
 */
export class WrongRevision extends DesiredError {
  constructor(message: string) {
    super('DESIRED_WRONG_REVISION', message);
  }
}

/**
 * Signatures are required, but gpg is missing: nothing can be verified, so no signature is good.
 */
export class KeyringUnavailable extends DesiredError {
  constructor(cause: unknown) {
    super(
      'DESIRED_GPG',
      'the project demands signed commits, and they cannot be verified: gpg is not installed on the machine of this controller, or not on PATH',
      { cause, retry: 'never' },
    );
  }
}
