import { isObject, messageOf, parseJson } from '#base';
import type { Json } from '#base';
import { apiVersionOf } from '#model';
import type { KubeObject } from '#model';
import type { ApplyConflict, SchemaBook } from '../types.ts';
import { asJson, str, withMeta } from './fields.ts';
import { judgeUnknown, StrictDecodingError } from './decoding.ts';
import type { Incoming } from './decoding.ts';
import { unknownConversion, unregistered } from './objects.ts';
import type { Objects, WriteHow } from './objects.ts';
import { mediaType, parseBody } from './request.ts';
import type { ResourceRequest } from './request.ts';
import { goJsonError } from '../go-text.ts';
import {
  badRequest,
  conflict,
  invalid,
  plainError,
  SimError,
  unknownMediaType,
  unsupportedMediaType,
} from './status.ts';

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
  if (!builtin.includes(type)) throw unknownMediaType();
  if (!accepted.includes(type)) throw unsupportedMediaType(accepted);
  const patch = parsePatch(body, type);
  const merged = refusing(type, () => applyPatch(book, request, type, { live, patch }));
  if (!decode) return { object: merged, warnings: [] };
  checkIdentity(request, merged);
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

const goTypes: Readonly<Record<string, string>> = {
  'application/json-patch+json': '[]handlers.jsonPatchOp',
  'application/merge-patch+json': 'map[string]interface {}',
  'application/strategic-merge-patch+json': 'map[string]interface {}',
};

function parsePatch(body: Buffer, type: string): Json {
  const text = body.toString('utf8');
  const wrap = type === 'application/strategic-merge-patch+json' ? '' : 'error decoding patch: ';
  let patch: Json;
  try {
    patch = parseJson(text);
  } catch {
    throw badRequest(`${wrap}${goJsonError(text)}`);
  }
  if (patch === null) throw badRequest('Invalid JSON Patch');
  const list = type === 'application/json-patch+json';
  if (list === Array.isArray(patch) && (list || isObject(patch))) return patch;
  const found = Array.isArray(patch) ? 'array' : isObject(patch) ? 'object' : typeof patch;
  throw badRequest(`${wrap}json: cannot unmarshal ${found} into Go value of type ${goTypes[type] ?? ''}`);
}

/** A patch may change neither what an object is nor where it is. */
function checkIdentity({ kind, namespace, name }: ResourceRequest, patched: KubeObject): void {
  if (patched.kind !== kind.kind) throw refusedPatch(asJson(patched), unknownConversion(kind, patched));
  if (patched.apiVersion !== apiVersionOf(kind.group, kind.version))
    throw refusedPatch(asJson(patched), unregistered(patched));
  const metadata = asJson(patched)['metadata'];
  const given = isObject(metadata) ? metadata : {};
  if (str(given['name']) === '')
    throw badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`);
  if (given['name'] !== name)
    throw badRequest(`the name of the object (${str(given['name'])}) does not match the name on the URL (${name})`);
  if (kind.namespaced && str(given['namespace']) !== namespace && str(given['namespace']) !== '')
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
}

function applyPatch(
  book: SchemaBook,
  request: ResourceRequest,
  type: string,
  { live, patch }: { readonly live: KubeObject; readonly patch: Json },
): KubeObject {
  if (type === 'application/json-patch+json') return book.jsonPatch(live, patch);
  if (type === 'application/merge-patch+json') return book.mergePatch(live, patch);
  return book.strategicMergePatch(request.kind, live, patch);
}

/** A JSON patch that does not fit is a 422 about the whole server; the errors of the other libraries go out as they are. */
function refusing(type: string, body: () => KubeObject): KubeObject {
  try {
    return body();
  } catch (error) {
    if (error instanceof SimError) throw error;
    if (type !== 'application/json-patch+json') throw plainError(messageOf(error));
    throw new SimError(422, 'Invalid', 'the server rejected our request due to an error in our request', {});
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
  const applied = appliedBody(incoming);
  if (live === undefined && request.subresource !== '') objects.get(kind, namespace, name);
  const result = refusing('apply', () =>
    merge(book, request, { live, applied, how: { ...objects.by(how), force: isForced(request) } }),
  );
  const manner: WriteHow = { ...how, applied: true };
  const placed = withMeta(result, kind.namespaced ? { name, namespace } : { name });
  if (live !== undefined) return { object: objects.update(kind, request, () => placed, manner), created: false };
  if (applied.metadata.uid !== undefined)
    throw conflict(
      kind,
      name,
      `uid mismatch: the provided object specified uid ${applied.metadata.uid}, and no existing object was found`,
    );
  return { object: objects.create(kind, withMeta(placed, { resourceVersion: undefined }), manner), created: true };
}

function isForced({ query }: ResourceRequest): boolean {
  return query.get('force') === 'true' || query.get('force') === '1';
}

function appliedBody(incoming: Incoming): KubeObject {
  const given = parseBody(incoming.body, 'application/apply-patch+yaml');
  const placed = identified(incoming.request, given);
  if ((placed.metadata.managedFields ?? []).length > 0) throw badRequest('metadata.managedFields must be nil');
  return withoutNulls(asJson(placed)) as unknown as KubeObject;
}

/** What a configuration sets to null it does not speak of. */
function withoutNulls(value: Json): Json {
  if (Array.isArray(value)) return (value as readonly Json[]).map(withoutNulls);
  if (!isObject(value)) return value;
  const members = Object.entries(value).filter(([, member]) => member !== null && member !== undefined);
  return Object.fromEntries(members.map(([key, member]) => [key, withoutNulls(member as Json)]));
}

/** The applied object, checked against kind, name and namespace of the URL; a missing name or namespace is filled in. */
function identified({ kind, namespace, name }: ResourceRequest, given: Json): KubeObject {
  if (!isObject(given)) throw badRequest('error decoding YAML: the body is not an object');
  const apiVersion = apiVersionOf(kind.group, kind.version);
  const typed = given as unknown as KubeObject;
  if (typed.apiVersion !== apiVersion || typed.kind !== kind.kind) {
    const version = str(given['apiVersion']);
    throw badRequest(`invalid object type: ${version.includes('/') ? '' : '/'}${version}, Kind=${str(given['kind'])}`);
  }
  const metadata = isObject(given['metadata']) ? given['metadata'] : {};
  const object = withMeta({ ...typed, metadata }, { name: metadata['name'] ?? name });
  if (object.metadata.name !== name)
    throw badRequest(
      `the name of the object (${object.metadata.name ?? ''}) does not match the name on the URL (${name})`,
    );
  if (kind.namespaced && (object.metadata.namespace ?? namespace) !== namespace)
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  return object;
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
