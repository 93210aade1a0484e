import { at, isObject, JsonSyntaxError, JsonTooDeepError, messageOf, outsideText, parseJson, yieldToLoop } from '#base';
import type { Json, JsonObject, OutsideOptions } from '#base';
import { aboutSecret, apiVersionOf, groupKindName } from '#model';
import type { ApiResource, ConfidentialAnswer, KubeObject } from '#model';
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

/** A request, as far as errors about its answer need to know it. */
export interface Asked {
  /** Method and address, for the log. */
  readonly request: string;
  readonly verb: string;
  /** `<group>/<kind>`; the answer to a request about Secrets may hold their values. */
  readonly kind: string;
  /** What it was sent with, and nobody may see: servers and proxies that refuse a request may repeat it. */
  readonly hidden: readonly string[];
}

const secretKind = groupKindName({ group: '', kind: 'Secret' });

/** Reads an answer that is not a success into the error that it is. */
export async function errorOf(response: HttpResponse, asked: Asked, now: number): Promise<KubeApiError> {
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

function statusOf(response: HttpResponse, text: string, asked: Asked, now: number): KubeStatus {
  const after = retryAfterMs(headerOf(response, 'retry-after'), now);
  const parsed = parsedStatus(text, asked);
  const fallback = {
    code: response.status,
    reason: reasons[response.status] ?? 'Unknown',
    message: plainMessage(response.status, text, asked),
  };
  const status = parsed === undefined ? fallback : { ...parsed, code: response.status };
  const wait = after ?? parsed?.retryAfterMs;
  return { ...status, ...(wait === undefined ? {} : { retryAfterMs: wait }) };
}

function parsedStatus(text: string, asked: Asked): KubeStatus | undefined {
  try {
    const body = parseJson(text);
    return isObject(body) && body['kind'] === 'Status' ? statusOfObject(body, asked) : undefined;
  } catch {
    return undefined;
  }
}

/** A `metav1.Status` object, from a body or from an ERROR event. Its message can be shown. */
export function statusOfObject(status: JsonObject, asked: Asked): KubeStatus {
  const code = typeof status['code'] === 'number' ? status['code'] : 500;
  const said = textAt(status, 'reason') ?? '';
  // One word, as Kubernetes has it; a webhook may put anything there.
  const reason = /^[A-Z][A-Za-z]{0,40}$/.test(said) && !asked.hidden.includes(said) ? said : undefined;
  const text = textAt(status, 'message');
  const options = confidential(asked, { status: code, causes: listAt(status, 'details', 'causes'), reason });
  const message = text === undefined ? '' : outsideText('server', text, options);
  const seconds = at(status, 'details', 'retryAfterSeconds');
  const causes = listAt(status, 'details', 'causes').flatMap((cause) => textAt(cause, 'reason') ?? []);
  return {
    code,
    reason: reason ?? reasons[code] ?? 'Unknown',
    message: message === '' ? (reason ?? `the server answered ${code}`) : message,
    ...(typeof seconds === 'number' && seconds > 0 ? { retryAfterMs: seconds * 1000 } : {}),
    ...(causes.length === 0 ? {} : { causes }),
  };
}

function listAt(value: Json, ...path: readonly string[]): readonly Json[] {
  const found = at(value, ...path);
  return Array.isArray(found) ? (found as readonly Json[]) : [];
}

/** What an answer may be shown with: all of it but `hidden`; of one about Secrets, which may quote them, the facts. */
function confidential(
  { kind, verb, hidden }: Asked,
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
    reason: facts.reason ?? reasons[facts.status] ?? '',
    causes,
  };
  return { hidden, instead: aboutSecret(about) };
}

function plainMessage(code: number, text: string, asked: Asked): string {
  const options = confidential(asked, { status: code, causes: [] });
  if (options.instead !== undefined && text.trim() !== '') return outsideText('page', text, options);
  const said = outsideText('page', text, options);
  return `the server answered ${code}${said === '' ? '' : `: ${said}`}`;
}

/** Seconds or an HTTP date; undefined when it is neither. */
function retryAfterMs(header: string, now: number): number | undefined {
  if (/^\d+$/.test(header)) return Number(header) * 1000;
  const date = Date.parse(header);
  return header === '' || Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

export function headerOf(response: Pick<HttpResponse, 'headers'>, name: string): string {
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
  const remaining = at(envelope, 'metadata', 'remainingItemCount');
  return {
    items,
    resourceVersion,
    ...(next === undefined ? {} : { continue: next }),
    ...(typeof remaining === 'number' && remaining >= 0 ? { remaining } : {}),
  };
}

function textAt(value: Json, ...path: readonly string[]): string | undefined {
  const found = at(value, ...path);
  return typeof found === 'string' && found !== '' ? found : undefined;
}
