import type { SimResponse, HandlerDeps } from './response.ts';
import type { IncomingRequest } from './decoding.ts';
import { handleDelete, handleDeleteCollection } from './deletes.ts';
import { listPage } from '../reads/lists.ts';
import type { ResponseWriter } from '../reads/representation.ts';
import { methodNotAllowed } from '../status.ts';
import { handleSubresource } from './subresources.ts';
import { handleCreate, handleWrite } from './writes.ts';

/** Handles one resource request, except watches. @throws SimError */
export function handleRequest(deps: HandlerDeps, incoming: IncomingRequest, show: ResponseWriter): SimResponse {
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
