import { isObject, parseJson } from '#base';
import type { Json } from '#base';
import type { KubeObject } from '#model';
import { goJsonError } from '../go-text.ts';
import type { SchemaBook } from '../types.ts';
import { expectKind } from './objects.ts';
import { mediaType, parseBody } from './request.ts';
import type { ResourceRequest } from './request.ts';
import { badRequest } from './status.ts';
import type { SimError } from './status.ts';

/** What the HTTP side knows of a request beside its path. */
export interface Incoming {
  readonly request: ResourceRequest;
  readonly body: Buffer;
  readonly contentType: string | undefined;
  readonly userAgent: string;
}

/** What became of fields that the kind does not have: an error, warnings or silence, as `fieldValidation` says. */
export function judgeUnknown(query: URLSearchParams, unknown: readonly string[]): readonly string[] {
  const mode = query.get('fieldValidation') ?? 'Warn';
  if (unknown.length === 0 || mode === 'Ignore') return [];
  if (mode === 'Strict') throw new StrictDecodingError(`strict decoding error: ${unknown.join(', ')}`);
  return unknown;
}

/** Unknown fields under `fieldValidation=Strict`; each verb dresses it in its own Status. */
export class StrictDecodingError extends Error {}

/** A body in JSON that is no object is told in the words of who looks for its kind first. */
function readObject(kind: string, body: Buffer, contentType: string | undefined): Json {
  const type = mediaType(contentType);
  if (type !== '' && type !== 'application/json') return parseBody(body, contentType);
  const text = body.toString('utf8');
  const refused = (why: string): SimError =>
    badRequest(
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

/** The object that a body holds, checked against the kind of the URL. @throws SimError 400, 415 */
export function decodeBody(
  book: SchemaBook,
  { request, body, contentType }: Incoming,
): { readonly object: KubeObject; readonly warnings: readonly string[] } {
  const { kind, query } = request;
  const given = expectKind(kind, readObject(kind.kind, body, contentType));
  const decoded = book.decode(kind, given);
  const dress = (why: string): SimError =>
    badRequest(`${kind.kind} in version ${JSON.stringify(kind.version)} cannot be handled as a ${kind.kind}: ${why}`);
  if (decoded.typeError !== undefined) throw dress(decoded.typeError);
  try {
    return { object: decoded.object, warnings: judgeUnknown(query, decoded.unknownFields) };
  } catch (error) {
    if (error instanceof StrictDecodingError) throw dress(error.message);
    throw error;
  }
}
