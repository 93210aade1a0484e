import { isObject, messageOf, parseJson } from '#base';
import type { Json } from '#base';
import { apiVersionOf } from '#model';
import type { KubeObject } from '#model';
import type { ApplyConflict, OpenApiSchema, SchemaBook } from '../../types.ts';
import { asJsonObject, stringOrEmpty, withMeta } from '../fields.ts';
import { handleUnknownFields, StrictDecodingError } from './decoding.ts';
import type { IncomingRequest } from './decoding.ts';
import { unknownConversion, unregisteredVersion } from '../storage/objects.ts';
import type { ObjectStore, SimWriteOptions } from '../storage/objects.ts';
import { mediaType, parseBody } from '../http/request.ts';
import type { ResourceRequest } from '../http/request.ts';
import { goJsonError } from '../../go-text.ts';
import {
  badRequestError,
  conflictError,
  invalidError,
  plainError,
  SimError,
  unknownMediaType,
  unsupportedMediaType,
} from '../status.ts';

const customPatchTypes = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/apply-patch+yaml',
];
const builtinPatchTypes = [
  ...customPatchTypes.slice(0, 2),
  'application/strategic-merge-patch+json',
  ...customPatchTypes.slice(2),
];

/**
 * The live object with a JSON, merge or strategic merge patch applied, decoded again.
 * @throws SimError 400, 415, 422
 */
export function applyPatchTo(
  book: SchemaBook,
  incoming: IncomingRequest,
  live: KubeObject,
  decode = true,
): { readonly object: KubeObject; readonly warnings: readonly string[] } {
  const { request, body } = incoming;
  const type = mediaType(incoming.contentType);
  const accepted = request.kind.custom ? customPatchTypes : builtinPatchTypes;
  if (!builtinPatchTypes.includes(type)) throw unknownMediaType();
  if (!accepted.includes(type)) throw unsupportedMediaType(accepted);
  const patch = parsePatch(body, type);
  const merged = withPatchErrors(type, () => applyPatch(book, request, type, { live, patch }));
  if (!decode) return { object: merged, warnings: [] };
  checkIdentity(request, merged);
  const { object, unknownFields, typeError } = book.decode(request.kind, merged);
  // A patch that produces fields of wrong types is an invalid patch, not a bad request.
  if (typeError !== undefined) throw refusedPatch(asJsonObject(merged), typeError);
  try {
    return { object, warnings: handleUnknownFields(request.query, unknownFields) };
  } catch (error) {
    if (error instanceof StrictDecodingError) throw refusedPatch(asJsonObject(merged), error.message);
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
    throw badRequestError(`${wrap}${goJsonError(text)}`);
  }
  if (patch === null) throw badRequestError('Invalid JSON Patch');
  const list = type === 'application/json-patch+json';
  if (list === Array.isArray(patch) && (list || isObject(patch))) return patch;
  const found = Array.isArray(patch) ? 'array' : isObject(patch) ? 'object' : typeof patch;
  throw badRequestError(`${wrap}json: cannot unmarshal ${found} into Go value of type ${goTypes[type] ?? ''}`);
}

/** A patch may not change the kind, name or namespace of an object. */
function checkIdentity({ kind, namespace, name }: ResourceRequest, patched: KubeObject): void {
  if (patched.kind !== kind.kind) throw refusedPatch(asJsonObject(patched), unknownConversion(kind, patched));
  if (patched.apiVersion !== apiVersionOf(kind.group, kind.version))
    throw refusedPatch(asJsonObject(patched), unregisteredVersion(patched));
  const metadata = asJsonObject(patched)['metadata'];
  const given = isObject(metadata) ? metadata : {};
  if (stringOrEmpty(given['name']) === '')
    throw badRequestError(`the name of the object (${name} based on URL) was undeterminable: name must be provided`);
  if (given['name'] !== name)
    throw badRequestError(
      `the name of the object (${stringOrEmpty(given['name'])}) does not match the name on the URL (${name})`,
    );
  if (kind.namespaced && stringOrEmpty(given['namespace']) !== namespace && stringOrEmpty(given['namespace']) !== '')
    throw badRequestError('the namespace of the provided object does not match the namespace sent on the request');
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

/**
 * A JSON patch that fails is a 422 without details; errors of the other patch types are returned as
 * they are.
 */
function withPatchErrors(type: string, body: () => KubeObject): KubeObject {
  try {
    return body();
  } catch (error) {
    if (error instanceof SimError) throw error;
    if (messageOf(error).startsWith('invalid patch format of ')) throw badRequestError(messageOf(error));
    if (type !== 'application/json-patch+json') throw plainError(messageOf(error));
    throw new SimError(422, 'Invalid', 'the server rejected our request due to an error in our request', {});
  }
}

function refusedPatch(patched: Json, why: string): SimError {
  return invalidError({ group: '', kind: '' }, '', [
    {
      type: 'FieldValueInvalid',
      field: 'patch',
      message: `Invalid value: ${JSON.stringify(JSON.stringify(patched))}: ${why}`,
    },
  ]);
}

export interface ApplyDeps {
  readonly objects: ObjectStore;
  readonly book: SchemaBook;
}

/**
 * Server-side apply: creates or merges.
 * @throws SimError 409 with one cause per conflict, 500 for unknown fields
 */
export function serverSideApply(
  { objects, book }: ApplyDeps,
  incoming: IncomingRequest,
  how: SimWriteOptions,
): { readonly object: KubeObject; readonly created: boolean } {
  const { request } = incoming;
  const { kind, namespace, name } = request;
  const live = objects.find(kind, namespace, name);
  const applied = appliedBody(incoming);
  if (live === undefined && request.subresource !== '') objects.get(kind, namespace, name);
  const result = withPatchErrors('apply', () =>
    mergeApplied(book, request, { live, applied, how: { ...objects.by(how), force: isForced(request) } }),
  );
  const manner: SimWriteOptions = { ...how, applied: true };
  const placed = withMeta(result, kind.namespaced ? { name, namespace } : { name });
  if (live !== undefined) return { object: objects.update(kind, request, () => placed, manner), created: false };
  if (applied.metadata.uid !== undefined)
    throw conflictError(
      kind,
      name,
      `uid mismatch: the provided object specified uid ${applied.metadata.uid}, and no existing object was found`,
    );
  return { object: objects.create(kind, withMeta(placed, { resourceVersion: undefined }), manner), created: true };
}

function isForced({ query }: ResourceRequest): boolean {
  return query.get('force') === 'true' || query.get('force') === '1';
}

function appliedBody(incoming: IncomingRequest): KubeObject {
  const given = parseBody(incoming.body, 'application/apply-patch+yaml');
  const placed = withIdentity(incoming.request, given);
  if ((placed.metadata.managedFields ?? []).length > 0) throw badRequestError('metadata.managedFields must be nil');
  return withoutNulls(asJsonObject(placed), incoming.request.kind.schema) as unknown as KubeObject;
}

/** Null members of an applied configuration count as absent; in maps of strings they are empty. */
function withoutNulls(value: Json, schema: OpenApiSchema | undefined): Json {
  if (Array.isArray(value)) return (value as readonly Json[]).map((item) => withoutNulls(item, schema?.items));
  if (!isObject(value)) return value;
  const others = typeof schema?.additionalProperties === 'object' ? schema.additionalProperties : undefined;
  const members = Object.entries(value).flatMap(([key, member]): [string, Json][] => {
    const inner = schema?.properties?.[key] ?? others;
    if (member === undefined) return [];
    if (member === null) return others?.type === 'string' ? [[key, '']] : [];
    return [[key, withoutNulls(member, inner)]];
  });
  return Object.fromEntries(members);
}

/**
 * The applied object, checked against kind, name and namespace of the URL; a missing name or
 * namespace is filled in.
 */
function withIdentity({ kind, namespace, name }: ResourceRequest, given: Json): KubeObject {
  if (!isObject(given)) throw badRequestError('error decoding YAML: the body is not an object');
  const apiVersion = apiVersionOf(kind.group, kind.version);
  const typed = given as unknown as KubeObject;
  if (typed.apiVersion !== apiVersion || typed.kind !== kind.kind) {
    const version = stringOrEmpty(given['apiVersion']);
    throw badRequestError(
      `invalid object type: ${version.includes('/') ? '' : '/'}${version}, Kind=${stringOrEmpty(given['kind'])}`,
    );
  }
  const metadata = isObject(given['metadata']) ? given['metadata'] : {};
  const object = withMeta({ ...typed, metadata }, { name: metadata['name'] ?? name });
  if (object.metadata.name !== name)
    throw badRequestError(
      `the name of the object (${object.metadata.name ?? ''}) does not match the name on the URL (${name})`,
    );
  if (kind.namespaced && (object.metadata.namespace ?? namespace) !== namespace)
    throw badRequestError('the namespace of the provided object does not match the namespace sent on the request');
  return object;
}

function mergeApplied(
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

/**
 * One cause per field, the message grouped by manager (structured-merge-diff conflicts as the API
 * server prints them).
 */
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
