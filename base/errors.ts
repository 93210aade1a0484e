/** How a queue treats a failed item: no retry, a retry with backoff, or one after a delay. */
export type RetryAdvice = 'never' | 'backoff' | { readonly afterMs: number };

/** Named values for the log line of an error. Never secrets, never manifests. */
export type ErrorFields = Readonly<Record<string, string | number | boolean | undefined>>;

export interface ErrorDetails {
  readonly cause?: unknown;
  readonly retry?: RetryAdvice;
  readonly fields?: ErrorFields;
}

/**
 * Base class of all errors of Driftless. `code` is stable: callers branch on it or on the class,
 * never on text. The message states what happened, to which object, and what to do.
 */
export class DriftlessError extends Error {
  readonly code: string;
  readonly retry: RetryAdvice;
  readonly fields: ErrorFields;

  constructor(code: string, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = new.target.name;
    this.code = code;
    this.retry = details.retry ?? 'backoff';
    this.fields = details.fields ?? {};
  }
}

/**
 * An error that knows whether its request is over (answered, or never sent), so the server cannot
 * still carry it out later.
 */
export interface RequestOutcome {
  readonly isOver: boolean;
}

export function isRequestOver(error: unknown): boolean {
  return error instanceof DriftlessError && 'isOver' in error && error.isOver === true;
}

/** Invalid input from the user: a bad flag, a bad file. Ends a command with exit code 2. */
export class UsageError extends DriftlessError {
  constructor(message: string, details: ErrorDetails = {}) {
    super('USAGE', message, { retry: 'never', ...details });
  }
}

/** The process is shutting down: stop, and leave everything as it is. */
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

/** Newer work for the same key replaced this work. */
export class Superseded extends DriftlessError {
  constructor(by: string) {
    super('SUPERSEDED', `replaced by ${by}`, { retry: 'never' });
  }
}

/** This replica no longer owns the object it works on: stop and write nothing more. */
export class OwnershipLost extends DriftlessError implements RequestOutcome {
  readonly isOver: boolean;

  /** @param isOver no request of the interrupted write can reach the server any more */
  constructor(what: string, { isOver = false }: Partial<RequestOutcome> = {}) {
    super('OWNERSHIP_LOST', `this replica no longer owns ${what}`, { retry: 'never' });
    this.isOver = isOver;
  }
}

/** The message of any thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** True for the reasons with which our signals abort, and for the platform's own AbortError. */
export function isAbort(error: unknown): boolean {
  return (
    error instanceof Shutdown ||
    error instanceof Superseded ||
    error instanceof OwnershipLost ||
    // By name only: the platform's class may come from another realm, so instanceof would fail.
    (typeof error === 'object' && error !== null && 'name' in error && error.name === 'AbortError')
  );
}
