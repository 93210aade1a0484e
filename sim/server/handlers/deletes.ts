import { isObject, stringifyJson } from '#base';
import type { JsonObject } from '#base';
import type { SimResponse, HandlerDeps } from './response.ts';
import type { IncomingRequest } from './decoding.ts';
import { orphansByDefault, parseDeleteOptions } from '../storage/deletion.ts';
import { matcherOf } from '../reads/lists.ts';
import type { ResponseWriter } from '../reads/representation.ts';
import { parseBody } from '../http/request.ts';
import { deletedStatus, methodNotAllowed } from '../status.ts';

/** Kinds whose DELETE returns the object even if it is removed at once. */
const answerWithObject = new Set([
  '/Pod',
  '/Service',
  '/PersistentVolume',
  '/PersistentVolumeClaim',
  '/ServiceAccount',
]);

/** DELETE of one object. @throws SimError */
export function handleDelete(deps: HandlerDeps, incoming: IncomingRequest, show: ResponseWriter): SimResponse {
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
  if (!removed || answerWithObject.has(kind.groupKind)) return { code: 200, body: show.one(object), warnings };
  return { code: 200, body: stringifyJson(deletedStatus(kind, request.name, object.metadata.uid)), warnings };
}

function deleteBody({ body, contentType }: IncomingRequest): JsonObject {
  if (body.length === 0) return {};
  const options = parseBody(body, contentType);
  return isObject(options) ? options : {};
}

/** DELETE of the objects that a collection's selectors match. @throws SimError */
export function handleDeleteCollection(
  deps: HandlerDeps,
  incoming: IncomingRequest,
  show: ResponseWriter,
): SimResponse {
  const { request } = incoming;
  if (!request.kind.verbs.includes('deletecollection')) throw methodNotAllowed();
  const options = parseDeleteOptions(deleteBody(incoming), request.query);
  const chosen = deps.storage.list(request.kind.groupKind, request.namespace).filter(matcherOf(request));
  for (const object of chosen) {
    const where = { namespace: object.metadata.namespace ?? '', name: object.metadata.name ?? '' };
    // The cascade of an earlier deletion may have removed it.
    if (deps.objects.find(request.kind, where.namespace, where.name) !== undefined)
      deps.deletion.delete(request.kind, where, options);
  }
  // The response shows the objects as they were selected.
  return { code: 200, body: show.list(chosen, { resourceVersion: String(deps.storage.revision) }) };
}
