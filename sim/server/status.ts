import { DriftlessError } from '#base';
import type { Json, JsonObject } from '#base';
import type { FieldError, KindDefinition } from '../types.ts';

/**
 * An API server's error response: HTTP code and `Status` body in kube-apiserver's words
 * (apimachinery: pkg/api/errors). The in-process store throws it; the HTTP server writes it.
 */
export class SimError extends DriftlessError {
  readonly httpCode: number;
  /**
   * Kubernetes' reason: "NotFound", "AlreadyExists", "Conflict", "Invalid", "Expired" ...; "" if
   * the server sends none.
   */
  readonly reason: string;
  readonly details: JsonObject | undefined;
  /** `metadata` of the Status: only an expired continue token has one. */
  readonly listMeta: JsonObject;

  // eslint-disable-next-line max-params -- the parts of a Status, in their usual order
  constructor(httpCode: number, reason: string, message: string, details?: JsonObject, listMeta: JsonObject = {}) {
    super('SIM_STATUS', message, { retry: 'never', fields: { httpCode, reason } });
    this.httpCode = httpCode;
    this.reason = reason;
    this.details = details;
    this.listMeta = listMeta;
  }

  /** The `Status` object of the response. */
  status(): JsonObject {
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: this.listMeta,
      status: 'Failure',
      message: this.message,
      ...(this.reason === '' ? {} : { reason: this.reason }),
      ...(this.details === undefined ? {} : { details: this.details }),
      code: this.httpCode,
    };
  }
}

type NamedResource = Pick<KindDefinition, 'group' | 'resource'>;
type NamedKind = Pick<KindDefinition, 'group' | 'kind'>;

/** "deployments.apps", "pods". */
export function qualifiedResource(kind: NamedResource): string {
  return kind.group === '' ? kind.resource : `${kind.resource}.${kind.group}`;
}

function qualifiedKind(kind: NamedKind): string {
  return kind.group === '' ? kind.kind : `${kind.kind}.${kind.group}`;
}

function statusDetails(kind: NamedResource, name: string, more: JsonObject = {}): JsonObject {
  return {
    ...(name === '' ? {} : { name }),
    ...(kind.group === '' ? {} : { group: kind.group }),
    kind: kind.resource,
    ...more,
  };
}

export function notFoundError(kind: NamedResource, name: string): SimError {
  return new SimError(404, 'NotFound', `${qualifiedResource(kind)} "${name}" not found`, statusDetails(kind, name));
}

export function alreadyExistsError(kind: NamedResource, name: string): SimError {
  const message = `${qualifiedResource(kind)} "${name}" already exists`;
  return new SimError(409, 'AlreadyExists', message, statusDetails(kind, name));
}

export function conflictError(kind: NamedResource, name: string, why: string): SimError {
  const message = `Operation cannot be fulfilled on ${qualifiedResource(kind)} "${name}": ${why}`;
  return new SimError(409, 'Conflict', message, statusDetails(kind, name));
}

export const staleText = 'the object has been modified; please apply your changes to the latest version and try again';

export function forbiddenError(
  kind: NamedResource,
  name: string,
  why: string,
  causes?: readonly JsonObject[],
): SimError {
  const subject =
    name === '' ? `${qualifiedResource(kind)} is forbidden` : `${qualifiedResource(kind)} "${name}" is forbidden`;
  return new SimError(
    403,
    'Forbidden',
    `${subject}: ${why}`,
    statusDetails(kind, name, causes === undefined ? {} : { causes }),
  );
}

/**
 * 422 with one cause per field error; the message joins them as Go's Aggregate does, without
 * duplicates.
 */
export function invalidError(kind: NamedKind, name: string, errors: readonly FieldError[]): SimError {
  const texts = [...new Set(errors.map((error) => `${error.field}: ${error.message}`))];
  const all = texts.length === 1 ? (texts[0] ?? '') : `[${texts.join(', ')}]`;
  return new SimError(422, 'Invalid', `${qualifiedKind(kind)} "${name}" is invalid: ${all}`, {
    ...(name === '' ? {} : { name }),
    ...(kind.group === '' ? {} : { group: kind.group }),
    ...(kind.kind === '' ? {} : { kind: kind.kind }),
    causes: errors.map((error) => ({ reason: error.type, message: error.message, field: error.field })),
  });
}

/** 422 about the options of a request ("PatchOptions.meta.k8s.io"). */
export function invalidOptions(kind: string, errors: readonly FieldError[]): SimError {
  return invalidError({ group: 'meta.k8s.io', kind }, '', errors);
}

export function badRequestError(message: string): SimError {
  return new SimError(400, 'BadRequest', message);
}

export function unauthorizedError(): SimError {
  return new SimError(401, 'Unauthorized', 'Unauthorized');
}

export function methodNotAllowed(): SimError {
  return new SimError(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource', {});
}

/**
 * 406: a known media type in a form that the kind does not support (`known`), or an unknown media
 * type.
 */
export function notAcceptable(known: boolean): SimError {
  const offered = 'application/json, application/yaml, application/vnd.kubernetes.protobuf';
  if (known) return new SimError(406, 'NotAcceptable', `only the following media types are accepted: ${offered}`);
  const streams = 'application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch';
  const message = `406: Not Acceptable\n\nAvailable representations: ${offered}, ${streams}`;
  return new SimError(406, 'NotAcceptable', message, {});
}

export function unsupportedMediaType(offered: readonly string[]): SimError {
  const message = `the body of the request was in an unknown format - accepted media types include: ${offered.join(', ')}`;
  return new SimError(415, 'UnsupportedMediaType', message);
}

/**
 * A media type that no verb of the path accepts: the router rejects it before the kind is known.
 */
export function unknownMediaType(): SimError {
  return new SimError(415, 'UnsupportedMediaType', '415: Unsupported Media Type', {});
}

/** 500 without a reason: an internal error that the server returns unchanged. */
export function plainError(message: string): SimError {
  return new SimError(500, '', message);
}

/** 404 for a path inside a served group. */
export function nothingThere(): SimError {
  return new SimError(404, 'NotFound', 'the server could not find the requested resource', {});
}

/** The resourceVersion is older than the retained history. */
export function tooOld(asked: number, oldest: number): SimError {
  return new SimError(410, 'Expired', `too old resource version: ${asked} (${oldest})`);
}

/**
 * The snapshot of a continue token is compacted; the new token continues from the same key in the
 * current state.
 */
export function continueExpired(token: string): SimError {
  const message =
    'The provided continue parameter is too old to display a consistent list result. You can start a new list without ' +
    'the continue parameter, or use the continue token in this response to retrieve the remainder of the results. ' +
    'Continuing with the provided token results in an inconsistent list - objects that were created, modified, or ' +
    'deleted between the time the first chunk was returned and now may show up in the list.';
  return new SimError(410, 'Expired', message, undefined, { continue: token });
}

/** The resourceVersion is in the future. */
export function tooLarge(asked: number, current: number): SimError {
  const message = `Timeout: Too large resource version: ${asked}, current: ${current}`;
  return new SimError(504, 'Timeout', message, {
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    retryAfterSeconds: 1,
  });
}

/** The response body of a DELETE that removed the object at once. */
export function deletedStatus(kind: NamedResource, name: string, uid: string | undefined): Json {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: statusDetails(kind, name, uid === undefined ? {} : { uid }),
  };
}
