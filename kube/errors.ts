import { defined, DriftlessError } from '#base';
import type { RetryAdvice } from '#base';

/** The parts of `metav1.Status` that we read. */
export interface KubeStatus {
  readonly code: number;
  readonly reason: string;
  readonly message: string;
  readonly retryAfterMs?: number;
  /** Reasons of `details.causes`. */
  readonly causes?: readonly string[];
}

const errorCodes: Readonly<Record<number, string>> = {
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

/** The API server returned an error. The message is the server's, without confidential values. */
export class KubeApiError extends DriftlessError {
  readonly status: number;
  /** Status reason: NotFound, AlreadyExists, Conflict, Invalid ... */
  readonly reason: string;
  /** Reasons of the individual causes, if the server lists them. */
  readonly causes: readonly string[];

  constructor(status: KubeStatus, request: string) {
    const retry: RetryAdvice = status.retryAfterMs === undefined ? 'backoff' : { afterMs: status.retryAfterMs };
    super(errorCodes[status.code] ?? (status.code >= 500 ? 'KUBE_SERVER_ERROR' : 'KUBE_ERROR'), status.message, {
      retry,
      fields: { status: status.code, reason: status.reason, request },
    });
    this.status = status.code;
    this.reason = status.reason;
    this.causes = status.causes ?? [];
  }
}

/**
 * No response: connection refused or reset, unknown host, TLS failure. The message names the server
 * and the cause.
 */
export class KubeConnectionError extends DriftlessError {
  /** The request cannot have reached the server: even a write is safe to repeat. */
  readonly neverSent: boolean;
  /** Retrying does not help (certificates, proxy settings). */
  readonly permanent: boolean;
  /**
   * No connection could be established. The next server at this address may be another one, or
   * restored to an earlier state.
   */
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

/** The response is not one of an API server: a line that is not JSON, a list without metadata. */
export class KubeProtocolError extends DriftlessError {
  constructor(request: string, message: string, cause?: unknown) {
    super('KUBE_PROTOCOL', `${request}: ${message}`, {
      fields: { request },
      ...defined({ cause }),
    });
  }
}

/** A list that does not end. Its items cannot be trusted. */
export class EndlessListError extends DriftlessError {
  /** @param retry `later`: it was expensive, so retry no sooner than in ten minutes. */
  constructor(request: string, message: string, retry: 'backoff' | 'later') {
    super('KUBE_ENDLESS_LIST', `${request}: ${message}`, {
      retry: retry === 'later' ? { afterMs: 600_000 } : 'backoff',
      fields: { request },
    });
  }
}

/** The exceeded limit, for messages. */
const sizeTexts = {
  object: 'an object larger than the limit of one',
  envelope: 'a list with more around its items than any that is known',
  document: 'an answer larger than any that is known',
  page: 'a page of a list larger than any that is known',
} as const;

/** A response, or an object in it, exceeds a size limit. Nothing of it is kept. */
export class KubeSizeError extends DriftlessError {
  constructor(request: string, message: string, afterMs: number) {
    super('KUBE_SIZE', `${request}: ${message}`, { retry: { afterMs }, fields: { request } });
  }

  /**
   * One response exceeds its own limit. It was expensive, so retry no sooner than in ten minutes.
   */
  static of(what: keyof typeof sizeTexts, request: string, bytes: number, limitBytes: number): KubeSizeError {
    const message = `the server sends ${sizeTexts[what]} (${bytes} bytes or more, limit ${limitBytes})`;
    return new KubeSizeError(request, message, 600_000);
  }

  /** All unfinished responses of one server together exceed their limit. */
  static inFlight(request: string, bytes: number): KubeSizeError {
    const message = `the unfinished answers of this server are too large together (this one has ${bytes} bytes so far)`;
    return new KubeSizeError(request, message, 60_000);
  }
}

/** No credentials available: the plugin failed or timed out, or the token file cannot be read. */
export class KubeCredentialError extends DriftlessError {
  constructor(message: string, cause?: unknown) {
    super('KUBE_CREDENTIALS', message, cause === undefined ? {} : { cause });
  }
}

/**
 * The request cannot be sent: a namespaced object without namespace, an apply without field
 * manager.
 */
export class KubeRequestError extends DriftlessError {
  constructor(message: string) {
    super('KUBE_REQUEST', message, { retry: 'never' });
  }
}

/** A write through a read-only client. Nothing was sent. */
export class KubeReadOnlyError extends DriftlessError {
  constructor(request: string) {
    super('KUBE_READ_ONLY', `not sent, this process only reads: ${request}`, { retry: 'never', fields: { request } });
  }
}

/**
 * The server sends more than the client accepts: an endless list or an oversized response. Do not
 * trust its contents.
 */
export function isBeyondBounds(error: unknown): boolean {
  return error instanceof EndlessListError || error instanceof KubeSizeError;
}

export function isNotFound(error: unknown): boolean {
  return error instanceof KubeApiError && error.status === 404;
}

/** The answer to a request; undefined if the server has no such object. */
export async function unlessNotFound<T>(request: Promise<T>): Promise<T | undefined> {
  try {
    return await request;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

export function isConflict(error: unknown): boolean {
  return error instanceof KubeApiError && error.status === 409;
}

export function isAlreadyExists(error: unknown): boolean {
  return error instanceof KubeApiError && error.status === 409 && error.reason === 'AlreadyExists';
}

/** The object breaks a rule of the API server. */
export function isInvalid(error: unknown): boolean {
  return error instanceof KubeApiError && error.status === 422;
}

export function isExpired(error: unknown): boolean {
  return error instanceof KubeApiError && error.status === 410;
}

/**
 * The server does not know this resourceVersion yet: it is from another server, or from before a
 * restore.
 */
export function isTooLargeVersion(error: unknown): boolean {
  return error instanceof KubeApiError && error.causes.includes('ResourceVersionTooLarge');
}

/**
 * An object is too large to be stored: the server's own request limit (413), or that of etcd or its
 * connection, which the server returns as an internal error.
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
