import { DriftlessError } from '#base';
import type { Json, JsonObject } from '#base';
import type { FieldError, KindDefinition } from '../types.ts';

/**
 * What an API server answers instead of an object: HTTP code and `Status` body, worded as kube-apiserver words them
 * (apimachinery: pkg/api/errors). The same error is thrown by the in-process store and written by the HTTP side.
 */
export class SimError extends DriftlessError {
  readonly httpCode: number;
  /** Kubernetes' reason: "NotFound", "AlreadyExists", "Conflict", "Invalid", "Expired" ...; "" when the server gives none. */
  readonly reason: string;
  readonly details: JsonObject | undefined;
  /** `metadata` of the Status: only an expired continue token has one. */
  readonly listMeta: JsonObject;

  // eslint-disable-next-line max-params -- the parts of a Status, in the order in which people say them
  constructor(httpCode: number, reason: string, message: string, details?: JsonObject, listMeta: JsonObject = {}) {
    super('SIM_STATUS', message, { retry: 'never', fields: { httpCode, reason } });
    this.httpCode = httpCode;
    this.reason = reason;
    this.details = details;
    this.listMeta = listMeta;
  }

  /** The `Status` object as it goes over the wire. */
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

type Named = Pick<KindDefinition, 'group' | 'resource'>;
type Kinded = Pick<KindDefinition, 'group' | 'kind'>;

/** "deployments.apps", "pods". */
export function qualifiedResource(kind: Named): string {
  return kind.group === '' ? kind.resource : `${kind.resource}.${kind.group}`;
}

function qualifiedKind(kind: Kinded): string {
  return kind.group === '' ? kind.kind : `${kind.kind}.${kind.group}`;
}

function about(kind: Named, name: string, more: JsonObject = {}): JsonObject {
  return {
    ...(name === '' ? {} : { name }),
    ...(kind.group === '' ? {} : { group: kind.group }),
    kind: kind.resource,
    ...more,
  };
}

export function notFound(kind: Named, name: string): SimError {
  return new SimError(404, 'NotFound', `${qualifiedResource(kind)} "${name}" not found`, about(kind, name));
}

export function alreadyExists(kind: Named, name: string): SimError {
  const message = `${qualifiedResource(kind)} "${name}" already exists`;
  return new SimError(409, 'AlreadyExists', message, about(kind, name));
}

export function conflict(kind: Named, name: string, why: string): SimError {
  const message = `Operation cannot be fulfilled on ${qualifiedResource(kind)} "${name}": ${why}`;
  return new SimError(409, 'Conflict', message, about(kind, name));
}

export const staleText = 'the object has been modified; please apply your changes to the latest version and try again';

export function forbidden(kind: Named, name: string, why: string, causes?: readonly JsonObject[]): SimError {
  const subject =
    name === '' ? `${qualifiedResource(kind)} is forbidden` : `${qualifiedResource(kind)} "${name}" is forbidden`;
  return new SimError(
    403,
    'Forbidden',
    `${subject}: ${why}`,
    about(kind, name, causes === undefined ? {} : { causes }),
  );
}

/** 422 with one cause per field error; the message joins them as Go's Aggregate does, without repeats. */
export function invalid(kind: Kinded, name: string, errors: readonly FieldError[]): SimError {
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
  return invalid({ group: 'meta.k8s.io', kind }, '', errors);
}

export function badRequest(message: string): SimError {
  return new SimError(400, 'BadRequest', message);
}

export function unauthorized(): SimError {
  return new SimError(401, 'Unauthorized', 'Unauthorized');
}

export function methodNotAllowed(): SimError {
  return new SimError(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource', {});
}

/** 406: a media type that the router knows in a form that the kind has not, or one that nobody knows. */
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

/** A media type that no verb of the path takes: refused by the router, before any kind is asked. */
export function unknownMediaType(): SimError {
  return new SimError(415, 'UnsupportedMediaType', '415: Unsupported Media Type', {});
}

/** 500 without a reason: an error that the server passes on as it is. */
export function plainError(message: string): SimError {
  return new SimError(500, '', message);
}

/** What the server says of a path inside a group that it serves. */
export function nothingThere(): SimError {
  return new SimError(404, 'NotFound', 'the server could not find the requested resource', {});
}

/** A resourceVersion that is older than the history. */
export function tooOld(asked: number, oldest: number): SimError {
  return new SimError(410, 'Expired', `too old resource version: ${asked} (${oldest})`);
}

/** A continue token whose snapshot is gone; the new token goes on from the same key at the present state. */
export function continueExpired(token: string): SimError {
  const message =
    'The provided continue parameter is too old to display a consistent list result. You can start a new list without ' +
    'the continue parameter, or use the continue token in this response to retrieve the remainder of the results. ' +
    'Continuing with the provided token results in an inconsistent list - objects that were created, modified, or ' +
    'deleted between the time the first chunk was returned and now may show up in the list.';
  return new SimError(410, 'Expired', message, undefined, { continue: token });
}

/** A resourceVersion from the future. */
export function tooLarge(asked: number, current: number): SimError {
  const message = `Timeout: Too large resource version: ${asked}, current: ${current}`;
  return new SimError(504, 'Timeout', message, {
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    retryAfterSeconds: 1,
  });
}

/** The body of a DELETE that removed the object at once. */
export function deletedStatus(kind: Named, name: string, uid: string | undefined): Json {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: about(kind, name, uid === undefined ? {} : { uid }),
  };
}
