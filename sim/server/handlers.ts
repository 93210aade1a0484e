import { isObject, stringifyJson } from '#base';
import type { JsonObject } from '#base';
import type { KubeObject } from '#model';
import type { SchemaBook } from '../types.ts';
import { orphansByDefault, parseDeleteOptions } from './deletion.ts';
import type { Deletion } from './deletion.ts';
import { asJson, asObject, field, withMeta } from './fields.ts';
import { listPage, matcherOf } from './lists.ts';
import { decodeBody } from './decoding.ts';
import type { Incoming } from './decoding.ts';
import type { Objects, WriteHow } from './objects.ts';
import { applyTo, patchedBy } from './patching.ts';
import type { Representation } from './representation.ts';
import { mediaType, parseBody } from './request.ts';
import type { ResourceRequest } from './request.ts';
import { readScale, writeScale } from './scale.ts';
import { badRequest, deletedStatus, invalidOptions, methodNotAllowed, SimError } from './status.ts';
import type { Storage } from './storage.ts';
import { answer, isVirtual } from './virtual.ts';

/** An answer that is complete; watches are written by watch.ts. */
export interface Answer {
  readonly code: number;
  readonly body: string;
  readonly warnings?: readonly string[];
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface HandlerDeps {
  readonly storage: Storage;
  readonly objects: Objects;
  readonly deletion: Deletion;
  readonly book: SchemaBook;
}

/** Answers one request for a resource, all verbs but watch. @throws SimError */
export function handle(deps: HandlerDeps, incoming: Incoming, show: Representation): Answer {
  const { request } = incoming;
  if (request.subresource !== '') return handleSubresource(deps, incoming, show);
  switch (request.verb) {
    case 'get':
      return { code: 200, body: show.one(deps.objects.get(request.kind, request.namespace, request.name)) };
    case 'list': {
      const page = listPage(deps.storage, request);
      return { code: 200, body: show.list(page.objects, page.meta) };
    }
    case 'create':
      return handleCreate(deps, incoming, show);
    case 'update':
    case 'patch':
      return handleWrite(deps, incoming, show);
    case 'delete':
      return handleDelete(deps, incoming, show);
    case 'deletecollection':
      return handleDeleteCollection(deps, incoming, show);
    case 'watch':
      throw methodNotAllowed();
  }
}

function handleSubresource(deps: HandlerDeps, incoming: Incoming, show: Representation): Answer {
  const { request } = incoming;
  const { kind, subresource, verb } = request;
  const found = deps.objects.get(kind, request.namespace, request.name);
  const writes = verb === 'update' || verb === 'patch';
  if (subresource === 'status' && kind.statusSubresource) {
    if (verb === 'get') return { code: 200, body: show.one(found) };
    if (writes) return handleWrite(deps, incoming, show);
  }
  if (subresource === 'scale' && kind.scaleSubresource !== undefined) {
    if (verb === 'get') return { code: 200, body: stringifyJson(readScale(kind, found)) };
    if (writes) return handleScale(deps, incoming);
  }
  if (kind.shelf === '/Namespace' && subresource === 'finalize' && verb === 'update')
    return handleWrite(deps, incoming, show);
  if (kind.shelf === '/Pod' && subresource === 'log' && verb === 'get') return podLog(found, request);
  if (kind.shelf === '/Pod' && subresource === 'eviction' && verb === 'create') {
    deps.deletion.delete(kind, request, {});
    return {
      code: 201,
      body: JSON.stringify({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 }),
    };
  }
  const served = ['status', 'scale'].includes(subresource) && subresourceServed(request);
  throw served
    ? methodNotAllowed()
    : new SimError(404, 'NotFound', 'the server could not find the requested resource', {});
}

function subresourceServed({ kind, subresource }: ResourceRequest): boolean {
  return subresource === 'status' ? kind.statusSubresource : kind.scaleSubresource !== undefined;
}

/** What a container "printed": enough for `kubectl logs` and for tests that follow a log. */
function podLog(pod: KubeObject, { query }: ResourceRequest): Answer {
  const containers = field(pod, 'spec', 'containers');
  const names = Array.isArray(containers) ? containers.map((one) => (isObject(one) ? one['name'] : undefined)) : [];
  const { namespace = '', name = '' } = pod.metadata;
  const asked = query.get('container') ?? '';
  if (asked !== '' && !names.includes(asked)) throw badRequest(`container ${asked} is not valid for pod ${name}`);
  if (asked === '' && names.length > 1) {
    const list = names.map(String).join(' ');
    throw badRequest(`a container name must be specified for pod ${name}, choose one of: [${list}]`);
  }
  const body = `simulated container ${asked === '' ? String(names[0]) : asked} of pod ${namespace}/${name}\n`;
  return { code: 200, body, contentType: 'text/plain' };
}

// ------------------------------------------------------------- writes

function writeHow({ request, userAgent, contentType }: Incoming): WriteHow {
  const { query, subresource } = request;
  const dryRun = query.getAll('dryRun').filter((value) => value !== '');
  const options =
    request.verb === 'create' ? 'CreateOptions' : request.verb === 'patch' ? 'PatchOptions' : 'UpdateOptions';
  if (dryRun.some((value) => value !== 'All')) {
    const message = `Unsupported value: [${dryRun.map((value) => JSON.stringify(value)).join(',')}]: supported values: "All"`;
    throw invalidOptions(options, [{ type: 'FieldValueNotSupported', field: 'dryRun', message }]);
  }
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
    subresource: subresource as WriteHow['subresource'],
    dryRun: dryRun.length > 0,
  };
}

/** A body's namespace must be the one of the URL; a missing one is filled in. */
function inNamespace(request: ResourceRequest, object: KubeObject): KubeObject {
  if (!request.kind.namespaced) return object;
  const given = object.metadata.namespace ?? '';
  if (given === request.namespace) return object;
  if (given === '') return withMeta(object, { namespace: request.namespace });
  throw badRequest(`the namespace of the provided object does not match the namespace sent on the request`);
}

function handleCreate(deps: HandlerDeps, incoming: Incoming, show: Representation): Answer {
  const { request } = incoming;
  if (request.name !== '') throw methodNotAllowed();
  const how = writeHow(incoming);
  const { object, warnings } = decodeBody(deps.book, incoming);
  if (isVirtual(request.kind)) return { code: 201, body: stringifyJson(answer(request.kind, object)) };
  const created = deps.objects.create(request.kind, inNamespace(request, object), how);
  return { code: 201, body: show.one(created), warnings };
}

function handleWrite(deps: HandlerDeps, incoming: Incoming, show: Representation): Answer {
  const how = writeHow(incoming);
  const { request } = incoming;
  if (request.verb === 'update') {
    const { object, warnings } = decodeBody(deps.book, incoming);
    const wanted = named(request, inNamespace(request, object));
    return { code: 200, body: show.one(deps.objects.update(request.kind, request, () => wanted, how)), warnings };
  }
  if (mediaType(incoming.contentType) === 'application/apply-patch+yaml') {
    const { object, created } = applyTo(deps, incoming, how);
    return { code: created ? 201 : 200, body: show.one(object) };
  }
  const warnings: string[] = [];
  const patched = deps.objects.update(
    request.kind,
    request,
    (live) => {
      const result = patchedBy(deps.book, incoming, live);
      warnings.push(...result.warnings);
      return result.object;
    },
    how,
  );
  return { code: 200, body: show.one(patched), warnings };
}

function named({ name }: ResourceRequest, object: KubeObject): KubeObject {
  const given = object.metadata.name ?? '';
  if (given === name) return object;
  if (given === '') return withMeta(object, { name });
  throw badRequest(`the name of the object (${given}) does not match the name on the URL (${name})`);
}

function handleScale(deps: HandlerDeps, incoming: Incoming): Answer {
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
          : asJson(patchedBy(deps.book, incoming, asObject(now), false).object);
      return writeScale(request.kind, live, isObject(scale) ? scale : {});
    },
    how,
  );
  return { code: 200, body: stringifyJson(readScale(request.kind, result)) };
}

// ------------------------------------------------------------- deletes

/** Kinds whose DELETE answers with the object even when it is gone. */
const answerWithObject = new Set([
  '/Pod',
  '/Service',
  '/PersistentVolume',
  '/PersistentVolumeClaim',
  '/ServiceAccount',
]);

function handleDelete(deps: HandlerDeps, incoming: Incoming, show: Representation): Answer {
  const { request } = incoming;
  const { kind } = request;
  const options = parseDeleteOptions(deleteBody(incoming), request.query);
  const { object, removed } = deps.deletion.delete(kind, request, options);
  const quiet = options.propagationPolicy !== undefined || !orphansByDefault(kind) || kind.kind !== 'Job';
  const warnings = quiet
    ? []
    : [
        'child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set ' +
          'propagationPolicy=Orphan to suppress this warning',
      ];
  if (!removed || answerWithObject.has(kind.shelf)) return { code: 200, body: show.one(object), warnings };
  return { code: 200, body: stringifyJson(deletedStatus(kind, request.name, object.metadata.uid)), warnings };
}

function deleteBody({ body, contentType }: Incoming): JsonObject {
  if (body.length === 0) return {};
  const options = parseBody(body, contentType);
  return isObject(options) ? options : {};
}

function handleDeleteCollection(deps: HandlerDeps, incoming: Incoming, show: Representation): Answer {
  const { request } = incoming;
  if (!request.kind.verbs.includes('deletecollection')) throw methodNotAllowed();
  const options = parseDeleteOptions(deleteBody(incoming), request.query);
  const chosen = deps.storage.list(request.kind.shelf, request.namespace).filter(matcherOf(request));
  const deleted = chosen.map((object) => {
    const where = { namespace: object.metadata.namespace ?? '', name: object.metadata.name ?? '' };
    // A cascade of an earlier one may have taken it along.
    if (deps.objects.find(request.kind, where.namespace, where.name) === undefined) return object;
    return deps.deletion.delete(request.kind, where, options).object;
  });
  return { code: 200, body: show.list(deleted, { resourceVersion: String(deps.storage.revision) }) };
}
