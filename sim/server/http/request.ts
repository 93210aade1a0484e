import type { IncomingMessage } from 'node:http';
import { isObject, messageOf, parseJson, parseYamlDocuments } from '#base';
import type { Json } from '#base';
import { parseProtobuf } from './protobuf.ts';
import type { KindRegistry, ServedKind } from '../discovery/registry.ts';
import { badRequestError, methodNotAllowed, SimError, unsupportedMediaType } from '../status.ts';

export type RequestVerb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete' | 'deletecollection';

/** A parsed resource request. */
export interface ResourceRequest {
  readonly verb: RequestVerb;
  readonly kind: ServedKind;
  readonly namespace: string;
  /** "" for a collection. */
  readonly name: string;
  readonly subresource: string;
  readonly query: URLSearchParams;
  /** The client's User-Agent. */
  readonly agent: string;
}

/**
 * Finds the resource at a path: `/api/v1/...` or `/apis/<group>/<version>/...` with an optional
 * namespace, name and subresource. Undefined if the path serves no resource.
 */
export function routeResource(
  registry: KindRegistry,
  method: string,
  segments: readonly string[],
  query: URLSearchParams,
): Omit<ResourceRequest, 'agent'> | undefined {
  const core = segments[0] === 'api';
  const [group, version, ...rest] = core ? ['', ...segments.slice(1)] : segments.slice(1);
  if (group === undefined || version === undefined || rest.length === 0) return undefined;
  const { namespace, path } = takeNamespace(core, rest);
  const [resource = '', name = '', ...sub] = path;
  const kind = registry.byResource(group, version, resource);
  if (kind === undefined || sub.length > 1) return undefined;
  if (!isPlaced(kind, namespace, name)) return undefined;
  const subresource = sub[0] ?? '';
  const verb = allowedVerb(kind, verbOf(method, name, query), subresource);
  if (verb === 'create' && kind.namespaced && namespace === '') throw methodNotAllowed();
  return { verb, kind, namespace, name, subresource, query };
}

/** @throws SimError 405 */
function allowedVerb(kind: ServedKind, verb: RequestVerb | undefined, subresource: string): RequestVerb {
  if (verb === undefined || (subresource === '' && !kind.verbs.includes(verb))) throw methodNotAllowed();
  return verb;
}

/** A namespaced object needs its namespace; a cluster-scoped kind has none. */
function isPlaced(kind: ServedKind, namespace: string, name: string): boolean {
  return kind.namespaced ? name === '' || namespace !== '' : namespace === '';
}

function takeNamespace(core: boolean, rest: readonly string[]): { namespace: string; path: readonly string[] } {
  if (rest[0] !== 'namespaces' || rest.length < 3) return { namespace: '', path: rest };
  if (core && rest.length === 3 && (rest[2] === 'status' || rest[2] === 'finalize'))
    return { namespace: '', path: rest };
  return { namespace: rest[1] ?? '', path: rest.slice(2) };
}

function verbOf(method: string, name: string, query: URLSearchParams): RequestVerb | undefined {
  switch (method) {
    case 'GET':
    case 'HEAD':
      if (isTrueParameter(query.get('watch'))) return 'watch';
      return name === '' ? 'list' : 'get';
    case 'POST':
      return 'create';
    case 'PUT':
      return name === '' ? undefined : 'update';
    case 'PATCH':
      return name === '' ? undefined : 'patch';
    case 'DELETE':
      return name === '' ? 'deletecollection' : 'delete';
    default:
      return undefined;
  }
}

/** A boolean query parameter: present and neither "false" nor "0". */
export function isTrueParameter(value: string | null): boolean {
  return value !== null && value !== 'false' && value !== '0';
}

const maxBodyBytes = 3 * 1024 * 1024;

/** @throws SimError 413 for a body over 3 MiB. */
export async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBodyBytes)
      throw new SimError(413, 'RequestEntityTooLarge', `Request entity too large: limit is ${maxBodyBytes}`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

export function mediaType(header: string | undefined): string {
  return (header ?? '').split(';')[0]?.trim() ?? '';
}

const bodyTypes = ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf'];

/** Parses a body in JSON, YAML or protobuf. @throws SimError 400, or 415 for another media type. */
export function parseBody(body: Buffer, contentType: string | undefined): Json {
  const type = mediaType(contentType);
  if (type === 'application/vnd.kubernetes.protobuf') return parseProtobuf(body);
  try {
    if (type === '' || type === 'application/json') return parseJson(body.toString('utf8'));
    if (type === 'application/yaml' || type === 'application/apply-patch+yaml') return parseYaml(body.toString('utf8'));
  } catch (error) {
    throw badRequestError(messageOf(error));
  }
  throw unsupportedMediaType(bodyTypes);
}

function parseYaml(text: string): Json {
  // Most YAML bodies are JSON, for which the exact parser is faster.
  if (text.trimStart().startsWith('{')) return parseJson(text);
  const [first = null] = parseYamlDocuments(text);
  if (!isObject(first)) throw badRequestError('error decoding YAML: the body is not an object');
  return first;
}
