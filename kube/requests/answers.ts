import {
  valueAt,
  defined,
  isObject,
  JsonSyntaxError,
  JsonTooDeepError,
  messageOf,
  ownMember,
  outsideText,
  parseJson,
  yieldToLoop,
} from '#base';
import type { Json, JsonObject, OutsideOptions } from '#base';
import { aboutSecret, apiVersionOf, gkOf, groupKindName, groupOf, isKnownReason } from '#model';
import type { ApiResource, ConfidentialAnswer, KubeObject, SentSecret } from '#model';
import { checkParsedSize } from '../bytes/byte-limits.ts';
import type { ByteLimits, BytesInFlight } from '../bytes/byte-limits.ts';
import { KubeApiError, KubeProtocolError, KubeSizeError } from '../errors.ts';
import type { KubeStatus } from '../errors.ts';
import { readDeferred } from './deferred-reader.ts';
import { markAsHead, readValue, rememberText } from './head.ts';
import { ListSplitter, textIn } from './list-splitter.ts';
import type { HttpResponse } from '../transport/http-types.ts';
import type { DefersMembers, ItemSink, ListPage, NamedObject } from '../types.ts';

const errorBodyBytes = 256 * 1024;
/** Less than 1 ms of parsing, plus the processing; the event loop runs between two slices. */
const listSliceBytes = 128 * 1024;

/** Reasons as the API server would return them, for responses of proxies and load balancers. */
const statusReasons: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  406: 'NotAcceptable',
  409: 'Conflict',
  410: 'Gone',
  413: 'RequestEntityTooLarge',
  415: 'UnsupportedMediaType',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};

/** Facts about a request, for errors about its response. */
export interface RequestContext {
  /** Method and URL, for the log. */
  readonly request: string;
  readonly verb: string;
  /** `<group>/<kind>`; responses about Secrets may contain their values. */
  readonly kind: string;
  /**
   * Credentials sent with the request: a server or proxy may echo them in a refusal, so they must
   * be masked.
   */
  readonly hidden: readonly string[];
  /** About a Secret: what was sent. */
  readonly sent?: SentSecret;
}

export const secretKind = groupKindName({ group: '', kind: 'Secret' });

/** Reads an error response. */
export async function readError(response: HttpResponse, asked: RequestContext, now: number): Promise<KubeApiError> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body) {
    parts.push(chunk);
    bytes += chunk.length;
    if (bytes > errorBodyBytes) break;
  }
  const text = Buffer.concat(parts).toString('utf8');
  return new KubeApiError(statusOf(response, text, asked, now), asked.request);
}

function statusOf(response: HttpResponse, text: string, asked: RequestContext, now: number): KubeStatus {
  const after = retryAfterMs(headerOf(response, 'retry-after'), now);
  const parsed = parsedStatus(text, asked);
  const fallback = {
    code: response.status,
    reason: statusReasons[response.status] ?? 'Unknown',
    message: plainMessage(response.status, text, asked),
  };
  const status = parsed === undefined ? fallback : { ...parsed, code: response.status };
  const wait = after ?? parsed?.retryAfterMs;
  return { ...status, ...defined({ retryAfterMs: wait }) };
}

function parsedStatus(text: string, asked: RequestContext): KubeStatus | undefined {
  try {
    const body = parseJson(text);
    return isObject(body) && body['kind'] === 'Status' ? statusOfObject(body, asked) : undefined;
  } catch {
    return undefined;
  }
}

/** Reads a `metav1.Status` object, from a body or an ERROR event. Its message is safe to show. */
export function statusOfObject(status: JsonObject, asked: RequestContext): KubeStatus {
  const code = typeof status['code'] === 'number' ? status['code'] : 500;
  const said = textAt(status, 'reason') ?? '';
  // A CamelCase word, as in Kubernetes; a webhook may return anything.
  const isShown = (word: string): boolean =>
    /^[A-Z][A-Za-z]{0,40}$/.test(word) &&
    !asked.hidden.includes(word) &&
    (asked.kind !== secretKind || isKnownReason(word));
  const reason = isShown(said) ? said : undefined;
  const text = textAt(status, 'message');
  const options = displayOptions(asked, { status: code, causes: listAt(status, 'details', 'causes'), reason });
  const message = text === undefined ? '' : outsideText('server', text, options);
  const seconds = valueAt(status, 'details', 'retryAfterSeconds');
  const causes = listAt(status, 'details', 'causes')
    .flatMap((cause) => textAt(cause, 'reason') ?? [])
    .filter(isShown);
  return {
    code,
    reason: reason ?? statusReasons[code] ?? 'Unknown',
    message: message === '' ? (reason ?? `the server answered ${code}`) : message,
    ...(typeof seconds === 'number' && seconds > 0 ? { retryAfterMs: seconds * 1000 } : {}),
    ...(causes.length === 0 ? {} : { causes }),
  };
}

function listAt(value: Json, ...path: readonly string[]): readonly Json[] {
  const found = valueAt(value, ...path);
  return Array.isArray(found) ? (found as readonly Json[]) : [];
}

/** How to show a response: masks `hidden`. Responses about Secrets may quote them: only facts. */
function displayOptions(
  { kind, verb, hidden, sent }: RequestContext,
  facts: { readonly status: number; readonly reason?: string | undefined; readonly causes: readonly Json[] },
): OutsideOptions {
  if (kind !== secretKind) return { hidden };
  const causes = facts.causes.map((cause) => ({
    field: textAt(cause, 'field') ?? '',
    reason: textAt(cause, 'reason') ?? '',
  }));
  const what = ['get', 'list', 'watch'].includes(verb) ? 'a request about Secrets' : 'this Secret';
  const about: ConfidentialAnswer = {
    what,
    status: facts.status,
    reason: facts.reason ?? statusReasons[facts.status] ?? '',
    causes,
    ...defined({ sent }),
  };
  return { hidden, instead: aboutSecret(about) };
}

function plainMessage(code: number, text: string, asked: RequestContext): string {
  const options = displayOptions(asked, { status: code, causes: [] });
  if (options.instead !== undefined && text.trim() !== '') return outsideText('page', text, options);
  const said = outsideText('page', text, options);
  return `the server answered ${code}${said === '' ? '' : `: ${said}`}`;
}

/** Seconds or an HTTP date; undefined if it is neither. */
function retryAfterMs(header: string, now: number): number | undefined {
  if (/^\d+$/.test(header)) return Number(header) * 1000;
  const date = Date.parse(header);
  return header === '' || Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

export function headerOf(response: Pick<HttpResponse, 'headers'>, name: string): string {
  const value = response.headers[name];
  return typeof value === 'string' ? value : (value?.[0] ?? '');
}

/** Limits for reading a response. */
export interface ReadingBounds {
  readonly request: string;
  readonly limits: ByteLimits;
  readonly inFlight: BytesInFlight;
}

/**
 * Reads a response as a whole.
 * @throws KubeProtocolError if the body is not JSON; KubeSizeError if it is too large, as text or
 * parsed.
 */
export async function readJson(
  response: HttpResponse,
  bounds: ReadingBounds,
  what: 'object' | 'document' = 'object',
): Promise<Json> {
  const { request, limits } = bounds;
  const limitBytes = what === 'object' ? limits.objectBytes : limits.documentBytes;
  const refuse = (bytes: number): KubeSizeError => KubeSizeError.of(what, request, bytes, limitBytes);
  const body = await bytesOf(response, bounds, (bytes) => {
    if (bytes > limitBytes) throw refuse(bytes);
  });
  checkParsedSize(body, limitBytes, refuse);
  try {
    return parseJson(body.toString('utf8'));
  } catch (error) {
    const why = error instanceof JsonTooDeepError ? messageOf(error) : 'not JSON';
    throw new KubeProtocolError(request, `the answer is ${why}`, error);
  }
}

/** Reads a response that is plain text. @throws KubeSizeError */
export async function readText(response: HttpResponse, bounds: ReadingBounds, limitBytes: number): Promise<string> {
  const body = await bytesOf(response, bounds, (bytes) => {
    if (bytes > limitBytes) throw KubeSizeError.of('document', bounds.request, bytes, limitBytes);
  });
  return body.toString('utf8');
}

async function bytesOf(
  response: HttpResponse,
  { request, inFlight }: ReadingBounds,
  check: (bytes: number) => void,
): Promise<Buffer> {
  refuseEncoded(response, request);
  const parts: Uint8Array[] = [];
  const held = inFlight.open(request);
  let bytes = 0;
  try {
    for await (const chunk of response.body) {
      parts.push(chunk);
      bytes += chunk.length;
      check(bytes);
      held.set(bytes);
    }
    return Buffer.concat(parts);
  } finally {
    held.release();
  }
}

/** The same response; calls `count` with the bytes as they arrive. */
export function countBytes(response: HttpResponse, count: (bytes: number) => void): HttpResponse {
  async function* counted(): AsyncGenerator<Uint8Array> {
    for await (const chunk of response.body) {
      count(chunk.length);
      yield chunk;
    }
  }
  return { ...response, body: counted() };
}

/**
 * Rejects compressed responses: we never request them, and a small one may expand to a huge one.
 */
export function refuseEncoded(response: HttpResponse, request: string): void {
  const encoding = headerOf(response, 'content-encoding');
  if (encoding === '' || encoding === 'identity') return;
  throw new KubeProtocolError(
    request,
    `the answer is compressed (${outsideText('server', encoding)}), which was not asked for`,
  );
}

export async function readObject(response: HttpResponse, bounds: ReadingBounds): Promise<KubeObject> {
  const body = await readJson(response, bounds);
  if (!isKubeObject(body)) throw new KubeProtocolError(bounds.request, 'the answer is not a Kubernetes object');
  return body;
}

/** An object with kind and metadata; the rest is not checked. */
export function isKubeObject(value: Json | undefined): value is Json & KubeObject {
  return isObject(value) && typeof value['kind'] === 'string' && isObject(value['metadata']);
}

/**
 * Rejects another object than the one that was requested, which a proxy may return: it would be
 * compared, patched or deleted in its place.
 *
 * @throws KubeProtocolError
 */
export function checkIdentity(
  found: KubeObject,
  { kind }: ApiResource,
  { namespace, name }: NamedObject,
  request: string,
): void {
  const { metadata } = found;
  const isWanted = found.kind === kind && metadata.name === name && (metadata.namespace ?? namespace) === namespace;
  if (isWanted) return;
  const what = outsideText('server', `${found.kind} "${metadata.namespace ?? ''}/${metadata.name ?? ''}"`);
  throw new KubeProtocolError(request, `the answer is about ${kind} "${namespace}/${name}" but is ${what}`);
}

/** Options of reading one page of a list. */
interface ListReading extends ReadingBounds {
  readonly resource: ApiResource;
  readonly sink: ItemSink | undefined;
  readonly defers: DefersMembers | undefined;
}

type TypeMeta = Pick<KubeObject, 'apiVersion' | 'kind'>;

/** Resource versions of API servers are numbers, so they are far shorter. */
export const maxVersionLength = 256;

/**
 * An item that waits for the end of its page takes the memory of its text, and about as much again
 * for the parsed object.
 */
const pendingFactor = 2;

/**
 * Parses a page of a list as it arrives, item by item, yielding to the event loop. With a sink,
 * items are passed on as soon as the list's resourceVersion is known: API servers send it first.
 */
export async function readList(response: HttpResponse, reading: ListReading): Promise<ListPage> {
  const { request, resource, sink, limits, inFlight } = reading;
  refuseEncoded(response, request);
  let items: KubeObject[] = [];
  let pendingBytes = 0;
  const splitter = new ListSplitter(
    (bytes) => {
      items.push(readItem(bytes, reading));
      pendingBytes += pendingFactor * bytes.length;
    },
    limits.objectBytes,
    request,
  );
  sink?.begin();
  const held = inFlight.open(request);
  const handOver = (): void => {
    const version = sink === undefined ? undefined : versionIn(splitter.head());
    if (version === undefined) return;
    sink?.add(items, version);
    items = [];
    pendingBytes = 0;
  };
  try {
    let [sinceTurn, bytes] = [0, 0];
    for await (const chunk of response.body) {
      splitter.push(chunk);
      bytes += chunk.length;
      if (bytes > limits.responseBytes) throw KubeSizeError.of('page', request, bytes, limits.responseBytes);
      sinceTurn += chunk.length;
      if (sinceTurn >= listSliceBytes) handOver();
      held.set(splitter.heldBytes + pendingBytes);
      if (sinceTurn < listSliceBytes) continue;
      sinceTurn = 0;
      await yieldToLoop();
    }
    const envelope = splitter.end();
    checkListKind(envelope, resource, request);
    return pageOf(envelope, items, request);
  } catch (error) {
    if (error instanceof JsonSyntaxError) throw new KubeProtocolError(request, 'the list is not JSON', error);
    throw error;
  } finally {
    held.release();
  }
}

/** @throws JsonSyntaxError, KubeProtocolError */
function readItem(bytes: Uint8Array, { resource, request, defers }: ListReading): KubeObject {
  const typeMeta = { apiVersion: apiVersionOf(resource.group, resource.version), kind: resource.kind };
  const deferred = defers && readDeferred({ bytes, from: 0, to: bytes.length, defers, typeMeta });
  const item = deferred ?? parseItem(bytes, typeMeta, request);
  checkItemKind(item, groupKindName(resource), request);
  return item;
}

function parseItem(bytes: Uint8Array, typeMeta: TypeMeta, request: string): KubeObject {
  const { value, fault, text } = readValue(textIn(bytes));
  if (!isObject(value) || !isObject(value['metadata']))
    throw new KubeProtocolError(request, 'the list holds something that is not an object');
  const item = withTypeMeta(value, typeMeta);
  if (fault !== undefined) return markAsHead(item, fault);
  return text === undefined ? item : rememberText(item, text);
}

function versionIn(envelope: JsonObject | undefined): string | undefined {
  return envelope === undefined ? undefined : textAt(envelope, 'metadata', 'resourceVersion');
}

/** Adds apiVersion and kind, which API servers omit in the items of a list. */
function withTypeMeta(item: JsonObject, typeMeta: TypeMeta): KubeObject {
  if (typeof item['apiVersion'] === 'string' && typeof item['kind'] === 'string') return item as unknown as KubeObject;
  return { ...item, ...typeMeta } as unknown as KubeObject;
}

/**
 * Rejects an object of another kind in a list or watch. In a cache, it would look as if the watch
 * of its own kind kept it current, and suspending the listed kind would not remove it.
 * Metadata-only lists have objects of kind PartialObjectMetadata.
 *
 * @throws KubeProtocolError
 */
export function checkItemKind(
  object: Pick<KubeObject, 'apiVersion' | 'kind'>,
  groupKind: string,
  request: string,
): void {
  const found = groupKindName(gkOf(object));
  if (found === groupKind || found === 'meta.k8s.io/PartialObjectMetadata') return;
  throw new KubeProtocolError(
    request,
    `the answer is about ${groupKind} but holds an object of kind ${outsideText('server', found)}`,
  );
}

/**
 * Rejects a list of another kind, and an object that is no list: without items, either would look
 * like a list of objects that are all gone. Only built-in kinds have a list kind that is known.
 * Metadata-only lists do not name the kind that they are about.
 *
 * @throws KubeProtocolError
 */
function checkListKind(envelope: JsonObject, { group, kind }: ApiResource, request: string): void {
  const found = textAt(envelope, 'kind');
  const apiVersion = textAt(envelope, 'apiVersion');
  if (found === undefined || found === 'List' || found === 'PartialObjectMetadataList') return;
  const isBuiltIn = !group.includes('.');
  const isWanted = isBuiltIn ? found === `${kind}List` : found.endsWith('List');
  if (isWanted && (apiVersion === undefined || groupOf(apiVersion) === group)) return;
  throw new KubeProtocolError(
    request,
    `the answer is about ${groupKindName({ group, kind })} but is an object of kind ${outsideText('server', found)}`,
  );
}

function pageOf(envelope: JsonObject, items: readonly KubeObject[], request: string): ListPage {
  // Some aggregated APIs have lists without a version: they can be polled, but not watched.
  const isList = textAt(envelope, 'kind')?.endsWith('List') === true && ownMember(envelope, 'items') !== undefined;
  const resourceVersion = textAt(envelope, 'metadata', 'resourceVersion') ?? (isList ? '' : undefined);
  if (resourceVersion === undefined)
    throw new KubeProtocolError(request, 'the answer is not a list (it has no metadata.resourceVersion)');
  if (resourceVersion.length > maxVersionLength)
    throw new KubeProtocolError(request, `the resourceVersion of the list has ${resourceVersion.length} letters`);
  const next = textAt(envelope, 'metadata', 'continue');
  const remaining = valueAt(envelope, 'metadata', 'remainingItemCount');
  return {
    items,
    resourceVersion,
    ...defined({ continue: next }),
    ...(typeof remaining === 'number' && remaining >= 0 ? { remaining } : {}),
  };
}

function textAt(value: Json, ...path: readonly string[]): string | undefined {
  const found = valueAt(value, ...path);
  return typeof found === 'string' && found !== '' ? found : undefined;
}
