import { at, isObject, JsonSyntaxError, JsonTooDeepError, messageOf, parseJson, scrub, yieldToLoop } from '#base';
import type { Json, JsonObject } from '#base';
import { apiVersionOf } from '#model';
import type { ApiResource, KubeObject } from '#model';
import { KubeApiError, KubeProtocolError } from './errors.ts';
import type { KubeStatus } from './errors.ts';
import { asHead, asRead } from './head.ts';
import { ListSplitter } from './list-splitter.ts';
import type { HttpResponse } from './http-types.ts';
import type { ItemSink, ListPage } from './types.ts';

const errorBodyBytes = 256 * 1024;
/** Less than 1 ms of parsing, and some more of what is done with it: other work gets its turn between two such slices. */
const sliceBytes = 128 * 1024;

/** The reason that the API server would have given, for answers of proxies and load balancers. */
const reasons: Readonly<Record<number, string>> = {
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

/** Reads an answer that is not a success into the error that it is. */
export async function errorOf(response: HttpResponse, request: string, now: number): Promise<KubeApiError> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body) {
    parts.push(chunk);
    bytes += chunk.length;
    if (bytes > errorBodyBytes) break;
  }
  const text = Buffer.concat(parts).toString('utf8');
  return new KubeApiError(statusOf(response, text, now), request);
}

function statusOf(response: HttpResponse, text: string, now: number): KubeStatus {
  const after = retryAfterMs(headerOf(response, 'retry-after'), now);
  const parsed = parsedStatus(text);
  const fallback = {
    code: response.status,
    reason: reasons[response.status] ?? 'Unknown',
    message: plainMessage(response.status, text),
  };
  const status = parsed === undefined ? fallback : { ...parsed, code: response.status };
  const wait = after ?? parsed?.retryAfterMs;
  return { ...status, ...(wait === undefined ? {} : { retryAfterMs: wait }) };
}

function parsedStatus(text: string): KubeStatus | undefined {
  try {
    const body = parseJson(text);
    return isObject(body) && body['kind'] === 'Status' ? statusOfObject(body) : undefined;
  } catch {
    return undefined;
  }
}

/** A `metav1.Status` object, from a body or from an ERROR event. */
export function statusOfObject(status: JsonObject): KubeStatus {
  const code = typeof status['code'] === 'number' ? status['code'] : 500;
  const reason = textAt(status, 'reason');
  const message = scrub(textAt(status, 'message') ?? '');
  const seconds = at(status, 'details', 'retryAfterSeconds');
  const causes = causesOf(at(status, 'details', 'causes'));
  return {
    code,
    reason: reason ?? reasons[code] ?? 'Unknown',
    message: message === '' ? (reason ?? `the server answered ${code}`) : message,
    ...(typeof seconds === 'number' && seconds > 0 ? { retryAfterMs: seconds * 1000 } : {}),
    ...(causes.length === 0 ? {} : { causes }),
  };
}

function causesOf(causes: Json | undefined): readonly string[] {
  if (!Array.isArray(causes)) return [];
  return (causes as readonly Json[]).flatMap((cause) => textAt(cause, 'reason') ?? []);
}

function plainMessage(code: number, text: string): string {
  const said = scrub(text.trim()).replace(/\s+/g, ' ').slice(0, 200);
  return `the server answered ${code}${said === '' ? '' : `: ${said}`}`;
}

/** Seconds or an HTTP date; undefined when it is neither. */
function retryAfterMs(header: string, now: number): number | undefined {
  if (/^\d+$/.test(header)) return Number(header) * 1000;
  const date = Date.parse(header);
  return header === '' || Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

export function headerOf(response: HttpResponse, name: string): string {
  const value = response.headers[name];
  return typeof value === 'string' ? value : (value?.[0] ?? '');
}

/** @throws KubeProtocolError when the body is not JSON. */
export async function readJson(response: HttpResponse, request: string): Promise<Json> {
  const parts: Uint8Array[] = [];
  for await (const chunk of response.body) parts.push(chunk);
  try {
    return parseJson(Buffer.concat(parts).toString('utf8'));
  } catch (error) {
    const why = error instanceof JsonTooDeepError ? messageOf(error) : 'not JSON';
    throw new KubeProtocolError(request, `the answer is ${why}`, error);
  }
}

export async function readObject(response: HttpResponse, request: string): Promise<KubeObject> {
  const body = await readJson(response, request);
  if (!isKubeObject(body)) throw new KubeProtocolError(request, 'the answer is not a Kubernetes object');
  return body;
}

/** Something with a kind and metadata; what else it holds is its own affair. */
export function isKubeObject(value: Json | undefined): value is Json & KubeObject {
  return isObject(value) && typeof value['kind'] === 'string' && isObject(value['metadata']);
}

/** What a page of a list is read for. */
interface ListReading {
  readonly resource: ApiResource;
  readonly request: string;
  readonly sink: ItemSink | undefined;
}

/**
 * Parses a page of a list while it arrives, item by item, giving the loop its turns. With a sink, items go there as soon as the resourceVersion of the
 * list is known: API servers name it first.
 */
export async function readList(response: HttpResponse, { resource, request, sink }: ListReading): Promise<ListPage> {
  let items: KubeObject[] = [];
  const apiVersion = apiVersionOf(resource.group, resource.version);
  const splitter = new ListSplitter(({ value, fault, text }) => {
    if (!isObject(value) || !isObject(value['metadata']))
      throw new KubeProtocolError(request, 'the list holds something that is not an object');
    const item = complete(value, apiVersion, resource.kind);
    if (fault !== undefined) asHead(item, fault);
    else if (text !== undefined) asRead(item, text);
    items.push(item);
  });
  sink?.begin();
  try {
    let sinceTurn = 0;
    for await (const chunk of response.body) {
      splitter.push(chunk);
      sinceTurn += chunk.length;
      if (sinceTurn < sliceBytes) continue;
      sinceTurn = 0;
      const version = sink === undefined ? undefined : versionIn(splitter.head());
      if (version !== undefined) {
        sink?.add(items, version);
        items = [];
      }
      await yieldToLoop();
    }
    return pageOf(splitter.end(), items, request);
  } catch (error) {
    if (error instanceof JsonSyntaxError) throw new KubeProtocolError(request, 'the list is not JSON', error);
    throw error;
  }
}

function versionIn(envelope: JsonObject | undefined): string | undefined {
  return envelope === undefined ? undefined : textAt(envelope, 'metadata', 'resourceVersion');
}

/** Lists leave out what all their items have in common. */
function complete(item: JsonObject, apiVersion: string, kind: string): KubeObject {
  if (typeof item['apiVersion'] === 'string' && typeof item['kind'] === 'string') return item as unknown as KubeObject;
  return { ...item, apiVersion, kind } as unknown as KubeObject;
}

function pageOf(envelope: JsonObject, items: readonly KubeObject[], request: string): ListPage {
  const resourceVersion = textAt(envelope, 'metadata', 'resourceVersion');
  if (resourceVersion === undefined)
    throw new KubeProtocolError(request, 'the answer is not a list (it has no metadata.resourceVersion)');
  const next = textAt(envelope, 'metadata', 'continue');
  return { items, resourceVersion, ...(next === undefined ? {} : { continue: next }) };
}

function textAt(value: Json, ...path: readonly string[]): string | undefined {
  const found = at(value, ...path);
  return typeof found === 'string' && found !== '' ? found : undefined;
}
