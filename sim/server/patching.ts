import { isObject, messageOf, parseJson } from '#base';
import type { Json } from '#base';
import { apiVersionOf } from '#model';
import type { KubeObject } from '#model';
import type { ApplyConflict, SchemaBook } from '../types.ts';
import { asJson, str, withMeta } from './fields.ts';
import { judgeUnknown, StrictDecodingError } from './decoding.ts';
import type { Incoming } from './decoding.ts';
import type { Objects, WriteHow } from './objects.ts';
import { mediaType, parseBody } from './request.ts';
import type { ResourceRequest } from './request.ts';
import { badRequest, conflict, invalid, SimError, unsupportedMediaType } from './status.ts';

const custom = ['application/json-patch+json', 'application/merge-patch+json', 'application/apply-patch+yaml'];
const builtin = [...custom.slice(0, 2), 'application/strategic-merge-patch+json', ...custom.slice(2)];

/** The live object with a JSON, merge or strategic merge patch applied, decoded again. @throws SimError 400, 415, 422 */
export function patchedBy(
  book: SchemaBook,
  incoming: Incoming,
  live: KubeObject,
  decode = true,
): { readonly object: KubeObject; readonly warnings: readonly string[] } {
  const { request, body } = incoming;
  const type = mediaType(incoming.contentType);
  const accepted = request.kind.custom ? custom : builtin;
  if (!accepted.includes(type)) throw unsupportedMediaType(accepted);
  const patch = parsePatch(body);
  const merged = refusing(type, () => applyPatch(book, request, type, { live, patch }));
  if (!decode) return { object: merged, warnings: [] };
  const { object, unknownFields, typeError } = book.decode(request.kind, merged);
  // A patch that makes fields of wrong types is not a bad request: the patch is invalid.
  if (typeError !== undefined) throw refusedPatch(asJson(merged), typeError);
  try {
    return { object, warnings: judgeUnknown(request.query, unknownFields) };
  } catch (error) {
    if (error instanceof StrictDecodingError) throw refusedPatch(asJson(merged), error.message);
    throw error;
  }
}

function parsePatch(body: Buffer): Json {
  try {
    return parseJson(body.toString('utf8'));
  } catch (error) {
    throw badRequest(`error decoding patch: ${messageOf(error)}`);
  }
}

function applyPatch(
  book: SchemaBook,
  request: ResourceRequest,
  type: string,
  { live, patch }: { readonly live: KubeObject; readonly patch: Json },
): KubeObject {
  if (type === 'application/json-patch+json') return book.jsonPatch(live, patch);
  if (!isObject(patch)) throw badRequest('error decoding patch: a merge patch must be a JSON object');
  if (type === 'application/merge-patch+json') return book.mergePatch(live, patch);
  return book.strategicMergePatch(request.kind, live, patch);
}

/** A JSON patch that does not fit is a 422 about the whole server, other patches that do not fit are 400s. */
function refusing(type: string, body: () => KubeObject): KubeObject {
  try {
    return body();
  } catch (error) {
    if (error instanceof SimError) throw error;
    if (type !== 'application/json-patch+json') throw badRequest(messageOf(error));
    throw new SimError(422, 'Invalid', `the server rejected our request due to an error in our request`, {
      causes: [{ message: messageOf(error) }],
    });
  }
}

function refusedPatch(patched: Json, why: string): SimError {
  return invalid({ group: '', kind: '' }, '', [
    {
      type: 'FieldValueInvalid',
      field: 'patch',
      message: `Invalid value: ${JSON.stringify(JSON.stringify(patched))}: ${why}`,
    },
  ]);
}

export interface ApplyDeps {
  readonly objects: Objects;
  readonly book: SchemaBook;
}

/** Server-side apply: creates or merges. @throws SimError 409 with one cause per conflict, 500 for fields that the kind does not have. */
export function applyTo(
  { objects, book }: ApplyDeps,
  incoming: Incoming,
  how: WriteHow,
): { readonly object: KubeObject; readonly created: boolean } {
  const { request } = incoming;
  const { kind, namespace, name } = request;
  const live = objects.find(kind, namespace, name);
  const applied = appliedBody(book, incoming);
  if (live === undefined && request.subresource !== '') objects.get(kind, namespace, name);
  const result = refusing('apply', () =>
    merge(book, request, { live, applied, how: { ...objects.by(how), force: isForced(request) } }),
  );
  const manner: WriteHow = { ...how, applied: true };
  if (live !== undefined) return { object: objects.update(kind, request, () => result, manner), created: false };
  if (applied.metadata.uid !== undefined)
    throw conflict(
      kind,
      name,
      `uid mismatch: the provided object specified uid ${applied.metadata.uid}, and no existing object was found`,
    );
  return { object: objects.create(kind, withMeta(result, { resourceVersion: undefined }), manner), created: true };
}

function isForced({ query }: ResourceRequest): boolean {
  return query.get('force') === 'true' || query.get('force') === '1';
}

function appliedBody(book: SchemaBook, incoming: Incoming): KubeObject {
  const { kind, namespace, name } = incoming.request;
  const given = parseBody(incoming.body, 'application/apply-patch+yaml');
  const placed = identified(incoming.request, given);
  if ((placed.metadata.managedFields ?? []).length > 0) throw badRequest('metadata.managedFields must be nil');
  const decoded = book.decode(kind, placed);
  const problem = decoded.typeError ?? decoded.unknownFields.map(undeclared)[0];
  if (problem === undefined) return decoded.object;
  const who = `${namespace === '' ? '' : `${namespace}/`}${name}; ${placed.apiVersion}, Kind=${kind.kind}`;
  throw new SimError(500, '', `failed to create typed patch object (${who}): ${problem}`);
}

/** The applied object, checked against kind, name and namespace of the URL; a missing name or namespace is filled in. */
function identified({ kind, namespace, name }: ResourceRequest, given: Json): KubeObject {
  if (!isObject(given)) throw badRequest('error decoding YAML: the body is not an object');
  const apiVersion = apiVersionOf(kind.group, kind.version);
  const typed = given as unknown as KubeObject;
  if (typed.apiVersion !== apiVersion || typed.kind !== kind.kind) {
    const found = `${str(given['apiVersion'])}/${str(given['kind'])}`;
    const expected = `${apiVersion}/${kind.kind}`;
    throw badRequest(
      `Incorrect version specified in apply patch. Specified patch version: ${found}, expected: ${expected}`,
    );
  }
  const metadata = isObject(given['metadata']) ? given['metadata'] : {};
  const object = withMeta(
    { ...typed, metadata },
    { name: metadata['name'] ?? name, ...(kind.namespaced ? { namespace: metadata['namespace'] ?? namespace } : {}) },
  );
  if (object.metadata.name !== name)
    throw badRequest(
      `the name of the object (${object.metadata.name ?? ''}) does not match the name on the URL (${name})`,
    );
  if (kind.namespaced && object.metadata.namespace !== namespace)
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  return object;
}

/** `unknown field "spec.foo"` in the words of server-side apply. */
function undeclared(unknown: string): string {
  const path = /"(.*)"/.exec(unknown)?.[1] ?? unknown;
  return `.${path}: field not declared in schema`;
}

function merge(
  book: SchemaBook,
  { kind }: ResourceRequest,
  what: {
    readonly live: KubeObject | undefined;
    readonly applied: KubeObject;
    readonly how: Parameters<SchemaBook['serverSideApply']>[3];
  },
): KubeObject {
  const result = book.serverSideApply(kind, what.live, what.applied, what.how);
  if ('object' in result) return result.object;
  throw conflictsError(result.conflicts);
}

/** One cause per field, the message grouped by manager (structured-merge-diff conflicts as the API server prints them). */
function conflictsError(conflicts: readonly ApplyConflict[]): SimError {
  const causes = conflicts.map(({ detail, field }) => ({
    reason: 'FieldManagerConflict',
    message: `conflict with ${detail}`,
    field,
  }));
  const [first] = conflicts;
  if (conflicts.length === 1 && first !== undefined) {
    const message = `Apply failed with 1 conflict: conflict with ${first.detail}: ${first.field}`;
    return new SimError(409, 'Conflict', message, { causes });
  }
  const managers = [...new Set(conflicts.map(({ detail }) => detail))].sort();
  const lines = managers.flatMap((detail) => [
    `conflicts with ${detail}:`,
    ...conflicts.filter((one) => one.detail === detail).map((one) => `- ${one.field}`),
  ]);
  const message = `Apply failed with ${conflicts.length} conflicts: ${lines.join('\n')}`;
  return new SimError(409, 'Conflict', message, { causes });
}
