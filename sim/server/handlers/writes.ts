import { isObject, stringifyJson } from '#base';
import type { KubeObject } from '#model';
import type { SimResponse, HandlerDeps } from './response.ts';
import { decodeBody } from './decoding.ts';
import type { IncomingRequest } from './decoding.ts';
import { asJsonObject, asKubeObject, withMeta } from '../fields.ts';
import type { SimWriteOptions } from '../storage/objects.ts';
import { serverSideApply, applyPatchTo } from './patching.ts';
import type { ResponseWriter } from '../reads/representation.ts';
import { mediaType, parseBody } from '../http/request.ts';
import type { ResourceRequest } from '../http/request.ts';
import { readScale, writeScale } from './scale.ts';
import { badRequestError, invalidOptions, methodNotAllowed } from '../status.ts';
import { answerReview, isReviewKind } from '../discovery/virtual.ts';

function writeHow({ request, userAgent, contentType }: IncomingRequest): SimWriteOptions {
  const { query, subresource } = request;
  const dryRun = query.getAll('dryRun').filter((value) => value !== '');
  const options =
    request.verb === 'create' ? 'CreateOptions' : request.verb === 'patch' ? 'PatchOptions' : 'UpdateOptions';
  if (dryRun.some((value) => value !== 'All')) {
    const message = `Unsupported value: [${dryRun.map((value) => JSON.stringify(value)).join(',')}]: supported values: "All"`;
    throw invalidOptions(options, [{ type: 'FieldValueNotSupported', field: 'dryRun', message }]);
  }
  checkOptions(options, query);
  const manager = query.get('fieldManager') ?? '';
  const isApply = mediaType(contentType) === 'application/apply-patch+yaml';
  if (isApply && manager === '') {
    const message = 'Required value: is required for apply patch';
    throw invalidOptions('PatchOptions', [{ type: 'FieldValueRequired', field: 'fieldManager', message }]);
  }
  if (!isApply && query.has('force')) {
    const message = 'Forbidden: may not be specified for non-apply patch';
    throw invalidOptions('PatchOptions', [{ type: 'FieldValueForbidden', field: 'force', message }]);
  }
  return {
    manager: manager === '' ? (userAgent.split('/')[0] ?? '') || 'unknown' : manager,
    subresource: subresource as SimWriteOptions['subresource'],
    dryRun: dryRun.length > 0,
    patch: request.verb === 'patch',
  };
}

const maxManagerBytes = 128;

function checkOptions(options: string, query: URLSearchParams): void {
  const field = 'fieldManager';
  if (Buffer.byteLength(query.get(field) ?? '') > maxManagerBytes) {
    const message = `Too long: may not be more than ${maxManagerBytes} bytes`;
    throw invalidOptions(options, [{ type: 'FieldValueTooLong', field, message }]);
  }
  const mode = query.get('fieldValidation') ?? '';
  if (['', 'Ignore', 'Strict', 'Warn'].includes(mode)) return;
  const message = `Unsupported value: ${JSON.stringify(mode)}: supported values: "", "Ignore", "Strict", "Warn"`;
  throw invalidOptions(options, [{ type: 'FieldValueNotSupported', field: 'fieldValidation', message }]);
}

/** A body's namespace must match the URL; a missing one is filled in. */
function inNamespace(request: ResourceRequest, object: KubeObject): KubeObject {
  if (!request.kind.namespaced) return object;
  const given = object.metadata.namespace ?? '';
  if (given === request.namespace) return object;
  if (given === '') return withMeta(object, { namespace: request.namespace });
  throw badRequestError(`the namespace of the provided object does not match the namespace sent on the request`);
}

/** POST to a collection. @throws SimError */
export function handleCreate(deps: HandlerDeps, incoming: IncomingRequest, show: ResponseWriter): SimResponse {
  const { request } = incoming;
  if (request.name !== '') throw methodNotAllowed();
  const how = writeHow(incoming);
  const { object, warnings } = decodeBody(deps.book, incoming);
  if (isReviewKind(request.kind))
    return { code: 201, body: stringifyJson(answerReview(request.kind, object, deps.review)) };
  const created = deps.objects.create(request.kind, inNamespace(request, object), how);
  return { code: 201, body: show.one(created), warnings };
}

/** PUT and PATCH, of an object or of its status. @throws SimError */
export function handleWrite(deps: HandlerDeps, incoming: IncomingRequest, show: ResponseWriter): SimResponse {
  const how = writeHow(incoming);
  const { request } = incoming;
  if (request.verb === 'update') {
    const { object, warnings } = decodeBody(deps.book, incoming);
    const wanted = withName(request, inNamespace(request, object));
    return { code: 200, body: show.one(deps.objects.update(request.kind, request, () => wanted, how)), warnings };
  }
  if (mediaType(incoming.contentType) === 'application/apply-patch+yaml') {
    const { object, created } = serverSideApply(deps, incoming, how);
    return { code: created ? 201 : 200, body: show.one(object) };
  }
  const warnings: string[] = [];
  const patched = deps.objects.update(
    request.kind,
    request,
    (live) => {
      const result = applyPatchTo(deps.book, incoming, live);
      warnings.push(...result.warnings);
      return result.object;
    },
    how,
  );
  return { code: 200, body: show.one(patched), warnings };
}

function withName({ name }: ResourceRequest, object: KubeObject): KubeObject {
  const given = object.metadata.name ?? '';
  if (given === name) return object;
  if (given === '') return withMeta(object, { name });
  throw badRequestError(`the name of the object (${given}) does not match the name on the URL (${name})`);
}

/** PUT and PATCH of a scale. @throws SimError */
export function handleScale(deps: HandlerDeps, incoming: IncomingRequest): SimResponse {
  const { request } = incoming;
  const how = writeHow(incoming);
  const result = deps.objects.update(
    request.kind,
    request,
    (live) => {
      const now = readScale(request.kind, live);
      const scale =
        request.verb === 'update'
          ? parseBody(incoming.body, incoming.contentType)
          : asJsonObject(applyPatchTo(deps.book, incoming, asKubeObject(now), false).object);
      return writeScale(request.kind, live, isObject(scale) ? scale : {});
    },
    how,
  );
  return { code: 200, body: stringifyJson(readScale(request.kind, result)) };
}
