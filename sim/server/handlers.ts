import type { Answer, HandlerDeps } from './answer.ts';
import type { Incoming } from './decoding.ts';
import { handleDelete, handleDeleteCollection } from './deletes.ts';
import { listPage } from './lists.ts';
import type { Representation } from './representation.ts';
import { methodNotAllowed } from './status.ts';
import { handleSubresource } from './subresources.ts';
import { handleCreate, handleWrite } from './writes.ts';

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
