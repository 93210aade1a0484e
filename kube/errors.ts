import { DriftlessError } from '#base';
import type { Retry } from '#base';

/** `metav1.Status` as far as we read it. */
export interface KubeStatus {
  readonly code: number;
  readonly reason: string;
  readonly message: string;
  readonly retryAfterMs?: number;
  /** Reasons of `details.causes`. */
  readonly causes?: readonly string[];
}

const codes: Readonly<Record<number, string>> = {
  400: 'KUBE_BAD_REQUEST',
  401: 'KUBE_UNAUTHORIZED',
  403: 'KUBE_FORBIDDEN',
  404: 'KUBE_NOT_FOUND',
  405: 'KUBE_METHOD_NOT_ALLOWED',
  409: 'KUBE_CONFLICT',
  410: 'KUBE_EXPIRED',
  413: 'KUBE_TOO_LARGE',
  415: 'KUBE_UNSUPPORTED_MEDIA_TYPE',
  422: 'KUBE_INVALID',
  429: 'KUBE_TOO_MANY_REQUESTS',
};

/** The API server answered, and the answer was not a success. The message is the server's own. */
export class KubeApiError extends DriftlessError {
  readonly status: number;
  /** Status reason: NotFound, AlreadyExists, Conflict, Invalid ... */
  readonly reason: string;
  /** Reasons of the single causes, where the server names them. */
  readonly causes: readonly string[];

  constructor(status: KubeStatus, request: string) {
    const retry: Retry = status.retryAfterMs === undefined ? 'backoff' : { afterMs: status.retryAfterMs };
    super(codes[status.code] ?? (status.code >= 500 ? 'KUBE_SERVER_ERROR' : 'KUBE_ERROR'), status.message, {
      retry,
      fields: { status: status.code, reason: status.reason, request },
    });
    this.status = status.code;
    this.reason = status.reason;
    this.causes = status.causes ?? [];
  }
}

/** There was no answer: refused, reset, unknown host, TLS failure. The message names the server and the cause. */
export class KubeConnectionError extends DriftlessError {
  /** The request cannot have reached the server: repeating even a write does no harm. */
  readonly neverSent: boolean;
  /** Trying again will not help (certificates, proxy settings). */
  readonly permanent: boolean;
  /** Nobody was there. What answers next may be another server, or one that was set back to an earlier state. */
  readonly unreachable: boolean;

  constructor(
    server: string,
    message: string,
    cause: unknown,
    what: { readonly neverSent?: boolean; readonly permanent?: boolean; readonly unreachable?: boolean } = {},
  ) {
    super('KUBE_CONNECTION', `cannot reach ${server}: ${message}`, { cause, fields: { server } });
    this.neverSent = what.neverSent === true;
    this.permanent = what.permanent === true;
    this.unreachable = what.unreachable === true;
  }
}

/** The server answered with something that an API server never sends: a line that is no JSON, a list without metadata. */
export class KubeProtocolError extends DriftlessError {
  constructor(request: string, message: string, cause?: unknown) {
    super('KUBE_PROTOCOL', `${request}: ${message}`, {
      fields: { request },
      ...(cause === undefined ? {} : { cause }),
    });
  }
}

/** A list that goes on and on. What it has shown is not to be believed: a server that lists honestly comes to an end. */
export class EndlessListError extends DriftlessError {
  /** @param retry `later`: it has cost much, and is not tried again before ten minutes have passed. */
  constructor(request: string, message: string, retry: 'backoff' | 'later') {
    super('KUBE_ENDLESS_LIST', `${request}: ${message}`, {
      retry: retry === 'later' ? { afterMs: 600_000 } : 'backoff',
      fields: { request },
    });
  }
}

/** We have no credentials to show: the plugin failed or took too long, the token file cannot be read. */
export class KubeCredentialError extends DriftlessError {
  constructor(message: string, cause?: unknown) {
    super('KUBE_CREDENTIALS', message, cause === undefined ? {} : { cause });
  }
}

/** We were asked for something that cannot be sent: a namespaced object without namespace, an apply without field manager. */
export class KubeRequestError extends DriftlessError {
  constructor(message: string) {
    super('KUBE_REQUEST', message, { retry: 'never' });
  }
}

/** A write was asked of a client that only reads. Nothing was sent. */
export class KubeReadOnlyError extends DriftlessError {
  constructor(request: string) {
    super('KUBE_READ_ONLY', `not sent, this process only reads: ${request}`, { retry: 'never', fields: { request } });
  }
}

export function isNotFound(error: unknown): boolean {
  return error instanceof KubeApiError && error.status === 404;
}

export function isConflict(error: unknown): boolean {
  return error instanceof KubeApiError && error.status === 409;
}

export function isAlreadyExists(error: unknown): boolean {
  return error instanceof KubeApiError && error.status === 409 && error.reason === 'AlreadyExists';
}

export function isExpired(error: unknown): boolean {
  return error instanceof KubeApiError && error.status === 410;
}

/** The server does not know this resourceVersion yet: it is from another server, or from before this one was set back. */
export function isTooLargeVersion(error: unknown): boolean {
  return error instanceof KubeApiError && error.causes.includes('ResourceVersionTooLarge');
}

/**
 * An object is too big to be stored: the server's own limit for a request (413), or that of etcd or of the connection to it, which it passes on as
 * internal errors.
 */
export function isTooLarge(error: unknown): boolean {
  if (!(error instanceof KubeApiError)) return false;
  if (error.status === 413) return true;
  return (
    error.status === 500 &&
    /etcdserver: request is too large|trying to send message larger than max/.test(error.message)
  );
}

export function isForbidden(error: unknown): boolean {
  return error instanceof KubeApiError && error.status === 403;
}
