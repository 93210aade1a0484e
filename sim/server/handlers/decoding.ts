import { isObject, parseJson } from '#base';
import type { Json } from '#base';
import type { KubeObject } from '#model';
import { goJsonError } from '../../go-text.ts';
import type { SchemaBook } from '../../types.ts';
import { expectKind } from '../storage/objects.ts';
import { mediaType, parseBody } from '../http/request.ts';
import type { ResourceRequest } from '../http/request.ts';
import { badRequestError } from '../status.ts';
import type { SimError } from '../status.ts';

/** The parts of an HTTP request beyond its path. */
export interface IncomingRequest {
  readonly request: ResourceRequest;
  readonly body: Buffer;
  readonly contentType: string | undefined;
  readonly userAgent: string;
}

/** Handles unknown fields as `fieldValidation` requires: an error, warnings or nothing. */
export function handleUnknownFields(query: URLSearchParams, unknown: readonly string[]): readonly string[] {
  const mode = query.get('fieldValidation') ?? 'Warn';
  if (unknown.length === 0 || mode === 'Ignore') return [];
  if (mode === 'Strict') throw new StrictDecodingError(`strict decoding error: ${unknown.join(', ')}`);
  return unknown;
}

/** Unknown fields under `fieldValidation=Strict`; each verb wraps it in its own Status. */
export class StrictDecodingError extends Error {}

/** Parses a JSON body; one that is not an object gets the error of Go's kind lookup. */
function readObject(kind: string, body: Buffer, contentType: string | undefined): Json {
  const type = mediaType(contentType);
  if (type !== '' && type !== 'application/json') return parseBody(body, contentType);
  const text = body.toString('utf8');
  const refused = (why: string): SimError =>
    badRequestError(
      `the object provided is unrecognized (must be of type ${kind}): couldn't get version/kind; json parse error: ${why} ` +
        `(${text === '' ? '<empty>' : text.startsWith('{') ? text : body.toString('hex')})`,
    );
  let given: Json;
  try {
    given = parseJson(text);
  } catch {
    throw refused(goJsonError(text));
  }
  if (isObject(given)) return given;
  const found = Array.isArray(given) ? 'array' : typeof given;
  const struct =
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';
  throw refused(`json: cannot unmarshal ${found} into Go value of type ${struct}`);
}

/**
 * Decodes the object of a body and checks it against the kind of the URL.
 * @throws SimError 400, 415
 */
export function decodeBody(
  book: SchemaBook,
  { request, body, contentType }: IncomingRequest,
): { readonly object: KubeObject; readonly warnings: readonly string[] } {
  const { kind, query } = request;
  const given = expectKind(kind, readObject(kind.kind, body, contentType));
  const decoded = book.decode(kind, given);
  const dress = (why: string): SimError =>
    badRequestError(
      `${kind.kind} in version ${JSON.stringify(kind.version)} cannot be handled as a ${kind.kind}: ${why}`,
    );
  if (decoded.typeError !== undefined) throw dress(decoded.typeError);
  try {
    return { object: decoded.object, warnings: handleUnknownFields(query, decoded.unknownFields) };
  } catch (error) {
    if (error instanceof StrictDecodingError) throw dress(error.message);
    throw error;
  }
}
