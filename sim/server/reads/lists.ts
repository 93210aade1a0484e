import { parseJson } from '#base';
import type { KubeObject } from '#model';
import type { ListMeta } from './representation.ts';
import type { ResourceRequest } from '../http/request.ts';
import { fieldMatcher, labelMatcher } from './selectors.ts';
import type { ObjectMatcher } from './selectors.ts';
import { badRequestError, continueExpired, invalidOptions, SimError, tooLarge } from '../status.ts';
import { objectKey } from '../storage/storage.ts';
import type { RevisionedStorage } from '../storage/storage.ts';

/** Matches objects by the labels, fields and, if the path has one, name of a request. */
export function matcherOf(request: ResourceRequest): ObjectMatcher {
  const { query, kind, name } = request;
  const labels = labelMatcher(query.get('labelSelector') ?? '');
  const fields = fieldMatcher(query.get('fieldSelector') ?? '', kind).matches;
  return (object) => (name === '' || object.metadata.name === name) && labels(object) && fields(object);
}

/** The resourceVersion of a query; undefined if it is not given. @throws SimError 400 */
export function revisionOf(value: string | null): number | undefined {
  if (value === null || value === '') return undefined;
  if (/^[0-9]+$/.test(value)) return Number(value);
  throw badRequestError(
    `resourceVersion: Invalid value: "${value}": strconv.ParseUint: parsing "${value}": invalid syntax`,
  );
}

interface ContinueToken {
  /** -1: continue after `start` in the current state. */
  readonly revision: number;
  /** The last key that was returned. */
  readonly start: string;
}

function encodeToken(token: ContinueToken): string {
  return Buffer.from(JSON.stringify({ v: 'meta.k8s.io/v1', rv: token.revision, start: token.start })).toString(
    'base64url',
  );
}

function decodeToken(text: string): ContinueToken {
  try {
    const value = parseJson(Buffer.from(text, 'base64url').toString('utf8')) as { rv?: unknown; start?: unknown };
    if (typeof value.rv === 'number' && typeof value.start === 'string')
      return { revision: value.rv, start: value.start };
  } catch {
    // Falls through to the one message for all invalid tokens.
  }
  throw badRequestError('continue key is not valid: it is not a token that this server gave out');
}

/**
 * One page of a collection: the objects and the metadata of the list.
 * @throws SimError 400, 410, 504
 */
export function listPage(
  storage: RevisionedStorage,
  request: ResourceRequest,
): { readonly objects: readonly KubeObject[]; readonly meta: ListMeta } {
  const { query } = request;
  const matches = matcherOf(request);
  const token = query.get('continue') ?? '';
  const from = token === '' ? undefined : decodeToken(token);
  const revision = snapshotRevision(storage, query, from);
  const all = listSnapshot(storage, request, revision, from).filter(matches);
  const rest = from === undefined ? all : all.filter((object) => listKeyOf(object) > from.start);
  const limit = limitOf(query);
  const meta = { resourceVersion: String(revision) };
  if (!Number.isInteger(limit) || limit <= 0 || rest.length <= limit) return { objects: rest, meta };
  const objects = rest.slice(0, limit);
  const last = objects.at(-1);
  const next = encodeToken({ revision, start: last === undefined ? '' : listKeyOf(last) });
  const selective = (query.get('labelSelector') ?? '') !== '' || (query.get('fieldSelector') ?? '') !== '';
  // With a selector the real server does not know the remaining count.
  const remaining = selective ? {} : { remainingItemCount: rest.length - limit };
  return { objects, meta: { ...meta, continue: next, ...remaining } };
}

/**
 * The limit; 0 for resourceVersion 0, which the watch cache serves without paging.
 * @throws SimError 400
 */
function limitOf(query: URLSearchParams): number {
  const text = query.get('limit') ?? '0';
  if (!/^[+-]?[0-9]+$/.test(text))
    throw badRequestError(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`);
  return query.get('resourceVersion') === '0' && (query.get('continue') ?? '') === '' ? 0 : Number(text);
}

function listKeyOf(object: KubeObject): string {
  return objectKey(object.metadata.namespace ?? '', object.metadata.name ?? '');
}

/** The revision of the list. */
function snapshotRevision(storage: RevisionedStorage, query: URLSearchParams, from: ContinueToken | undefined): number {
  const match = query.get('resourceVersionMatch') ?? '';
  if (!['', 'Exact', 'NotOlderThan'].includes(match)) throw unsupportedMatch(match);
  if (from !== undefined) {
    const given = query.get('resourceVersion') ?? '';
    if (given !== '' && given !== '0')
      throw badRequestError('specifying resource version is not allowed when using continue');
    return from.revision < 0 ? storage.revision : from.revision;
  }
  const asked = listRevision(query.get('resourceVersion'));
  if (match !== '' && asked === undefined)
    throw forbiddenOption('resourceVersionMatch is forbidden unless resourceVersion is provided');
  if (match === 'Exact' && asked === 0)
    throw forbiddenOption('resourceVersionMatch "exact" is forbidden for resourceVersion "0"');
  if (asked !== undefined && asked > storage.revision) throw tooLarge(asked, storage.revision);
  return match === 'Exact' && asked !== undefined ? asked : storage.revision;
}

function listRevision(value: string | null): number | undefined {
  try {
    return revisionOf(value);
  } catch (error) {
    throw error instanceof SimError ? badRequestError(`invalid resource version: ${error.message}`) : error;
  }
}

function unsupportedMatch(match: string): SimError {
  const message = `Unsupported value: ${JSON.stringify(match)}: supported values: "Exact", "NotOlderThan", ""`;
  return invalidOptions('ListOptions', [{ type: 'FieldValueNotSupported', field: 'resourceVersionMatch', message }]);
}

function forbiddenOption(why: string): SimError {
  return invalidOptions('ListOptions', [
    { type: 'FieldValueForbidden', field: 'resourceVersionMatch', message: `Forbidden: ${why}` },
  ]);
}

function listSnapshot(
  storage: RevisionedStorage,
  request: ResourceRequest,
  revision: number,
  from: ContinueToken | undefined,
): readonly KubeObject[] {
  const { kind, namespace } = request;
  if (revision === storage.revision) return storage.list(kind.groupKind, namespace);
  try {
    return storage.listAt(kind.groupKind, namespace, revision);
  } catch (error) {
    if (!(error instanceof SimError) || error.httpCode !== 410) throw error;
    if (from !== undefined) throw continueExpired(encodeToken({ revision: -1, start: from.start }));
    throw new SimError(410, 'Expired', 'The resourceVersion for the provided list is too old.');
  }
}
