import { isObject, stringifyJson } from '#base';
import type { JsonObject } from '#base';
import type { Answer, HandlerDeps } from './answer.ts';
import type { Incoming } from './decoding.ts';
import { orphansByDefault, parseDeleteOptions } from './deletion.ts';
import { matcherOf } from './lists.ts';
import type { Representation } from './representation.ts';
import { parseBody } from './request.ts';
import { deletedStatus, methodNotAllowed } from './status.ts';

/** Kinds whose DELETE answers with the object even when it is gone. */
const answerWithObject = new Set([
  '/Pod',
  '/Service',
  '/PersistentVolume',
  '/PersistentVolumeClaim',
  '/ServiceAccount',
]);

/** DELETE of one object. @throws SimError */
export function handleDelete(deps: HandlerDeps, incoming: Incoming, show: Representation): Answer {
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

/** DELETE of what a collection's selectors choose. @throws SimError */
export function handleDeleteCollection(deps: HandlerDeps, incoming: Incoming, show: Representation): Answer {
  const { request } = incoming;
  if (!request.kind.verbs.includes('deletecollection')) throw methodNotAllowed();
  const options = parseDeleteOptions(deleteBody(incoming), request.query);
  const chosen = deps.storage.list(request.kind.shelf, request.namespace).filter(matcherOf(request));
  for (const object of chosen) {
    const where = { namespace: object.metadata.namespace ?? '', name: object.metadata.name ?? '' };
    // A cascade of an earlier one may have taken it along.
    if (deps.objects.find(request.kind, where.namespace, where.name) !== undefined)
      deps.deletion.delete(request.kind, where, options);
  }
  // The answer shows them as they were chosen.
  return { code: 200, body: show.list(chosen, { resourceVersion: String(deps.storage.revision) }) };
}
