/** What a queue should do with the item that failed: nothing, try again with backoff, or at a stated time. */
export type Retry = 'never' | 'backoff' | { readonly afterMs: number };

/** Named values for the log line of an error. Never secrets, never manifests. */
export type ErrorFields = Readonly<Record<string, string | number | boolean | undefined>>;

export interface ErrorDetails {
  readonly cause?: unknown;
  readonly retry?: Retry;
  readonly fields?: ErrorFields;
}

/**
 * The base of every error of Driftless. `code` is stable (callers branch on it or on the class, never on text); the message
 * says what happened, to which object, and what to do about it.
 */
export class DriftlessError extends Error {
  readonly code: string;
  readonly retry: Retry;
  readonly fields: ErrorFields;

  constructor(code: string, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = new.target.name;
    this.code = code;
    this.retry = details.retry ?? 'backoff';
    this.fields = details.fields ?? {};
  }
}

/** What an error may say of the request that it ended: that was answered, or never sent, so that nothing of it is carried out later. */
export interface RequestOutcome {
  readonly isOver: boolean;
}

export function isOver(error: unknown): boolean {
  return error instanceof DriftlessError && 'isOver' in error && error.isOver === true;
}

/** The user asked for something that cannot be: a bad flag, a bad file. Ends a command with exit code 2. */
export class UsageError extends DriftlessError {
  constructor(message: string, details: ErrorDetails = {}) {
    super('USAGE', message, { retry: 'never', ...details });
  }
}

/** The process is going down: stop doing, leave things as they are. */
export class Shutdown extends DriftlessError {
  constructor(message = 'shutting down') {
    super('SHUTDOWN', message, { retry: 'never' });
  }
}

/** A wait reached its deadline. */
export class DeadlineExceeded extends DriftlessError {
  constructor(what: string, limitMs: number) {
    super('DEADLINE_EXCEEDED', `${what} took longer than ${limitMs / 1000} s`, { fields: { limitMs } });
  }
}

/** Newer work for the same key replaced this one. */
export class Superseded extends DriftlessError {
  constructor(by: string) {
    super('SUPERSEDED', `replaced by ${by}`, { retry: 'never' });
  }
}

/** This replica no longer owns what it works on: stop and write nothing more. */
export class OwnershipLost extends DriftlessError {
  constructor(what: string) {
    super('OWNERSHIP_LOST', `this replica does not own ${what} any more`, { retry: 'never' });
  }
}

/** The message of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** True for the reasons with which our signals abort, and for the platform's own AbortError. */
export function isAbort(error: unknown): boolean {
  return (
    error instanceof Shutdown ||
    error instanceof Superseded ||
    error instanceof OwnershipLost ||
    // by name only: the platform's comes from another realm, where it is no instance of this one's Error
    (typeof error === 'object' && error !== null && 'name' in error && error.name === 'AbortError')
  );
}
