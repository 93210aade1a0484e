import { isObject, stringifyJson } from '#base';
import type { KubeObject } from '#model';
import type { SimResponse, HandlerDeps } from './response.ts';
import type { IncomingRequest } from './decoding.ts';
import { subresourcesOf } from '../discovery/discovery.ts';
import { fieldAt, stringOrEmpty } from '../fields.ts';
import type { ResponseWriter } from '../reads/representation.ts';
import type { ResourceRequest } from '../http/request.ts';
import { readScale } from './scale.ts';
import { badRequestError, methodNotAllowed, notFoundError, nothingThere } from '../status.ts';
import { handleScale, handleWrite } from './writes.ts';

/**
 * Handles subresources: status, scale, a namespace's finalizers, a pod's log and eviction.
 * @throws SimError
 */
export function handleSubresource(deps: HandlerDeps, incoming: IncomingRequest, show: ResponseWriter): SimResponse {
  const { request } = incoming;
  const { kind, subresource, verb } = request;
  const served = subresourcesOf(kind).find((part) => part.name === subresource);
  if (served === undefined) throw kind.custom ? notFoundError(kind, request.name) : nothingThere();
  const found = deps.objects.get(kind, request.namespace, request.name);
  if (!served.verbs.includes(verb)) throw methodNotAllowed();
  switch (subresource) {
    case 'scale':
      return verb === 'get' ? { code: 200, body: stringifyJson(readScale(kind, found)) } : handleScale(deps, incoming);
    case 'log':
      return podLog(found, request);
    case 'eviction':
      return evict(deps, request);
    default:
      return verb === 'get' ? { code: 200, body: show.one(found) } : handleWrite(deps, incoming, show);
  }
}

function evict(deps: HandlerDeps, request: ResourceRequest): SimResponse {
  deps.deletion.delete(request.kind, request, {});
  const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 };
  return { code: 201, body: JSON.stringify(status) };
}

/** A simulated container log: enough for `kubectl logs` and for tests that follow a log. */
function podLog(pod: KubeObject, { query }: ResourceRequest): SimResponse {
  const containers = fieldAt(pod, 'spec', 'containers');
  const names = Array.isArray(containers)
    ? containers.map((one) => (isObject(one) ? stringOrEmpty(one['name']) : ''))
    : [];
  const { namespace = '', name = '' } = pod.metadata;
  const asked = query.get('container') ?? '';
  if (asked !== '' && !names.includes(asked)) throw badRequestError(`container ${asked} is not valid for pod ${name}`);
  if (asked === '' && names.length > 1) {
    const list = names.join(' ');
    throw badRequestError(`a container name must be specified for pod ${name}, choose one of: [${list}]`);
  }
  const body = `simulated container ${asked === '' ? (names[0] ?? '') : asked} of pod ${namespace}/${name}\n`;
  return { code: 200, body, contentType: 'text/plain' };
}
