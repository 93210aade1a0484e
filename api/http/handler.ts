import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { newAbortController, Shutdown } from '#base';
import type { Logger } from '#telemetry';
import type { Caller } from '../access/viewer.ts';
import { ApiFault, errorBody } from '../fault.ts';
import { withoutUserInfo } from '../pages/format.ts';
import type { ReadApi } from '../read-api.ts';
import { apiRoot, parseApiRequest } from '../request.ts';

export interface ApiHandlerDeps {
  readonly api: ReadApi;
  /** Identifies the caller. @throws ApiFault */
  readonly identify: (request: IncomingMessage, signal: AbortSignal) => Promise<Caller>;
  readonly logger: Logger;
  /** Files of the dashboard; absent: it is off. */
  readonly files?: StaticFiles | undefined;
}

/** A file that anybody may read, with all of its headers but length and encoding. */
export interface StaticFile {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly gzip: Buffer;
}

/** By path; undefined: there is no such file. */
export type StaticFiles = (path: string) => StaticFile | undefined;

/** Answers GET and HEAD requests of the read API. Nothing that it serves changes anything. */
export function createApiHandler(deps: ApiHandlerDeps): RequestListener {
  return (request, response) => {
    const gone = newAbortController();
    response.on('close', () => gone.abort(new Shutdown('the caller is gone')));
    const file = deps.files === undefined ? undefined : fileOf(deps.files, request);
    if (file !== undefined) {
      sendFile(request, response, file);
      return;
    }
    answer(deps, { request, response }, gone.signal).then(
      (body) => {
        if (body !== undefined) send(request, response, 200, body);
      },
      (error: unknown) => {
        if (gone.signal.aborted || response.headersSent) {
          response.destroy();
          return;
        }
        if (!(error instanceof ApiFault)) deps.logger.warn('A request of the read API failed', { error });
        const { status, message, reason } = error instanceof ApiFault ? error : internalError;
        send(request, response, status, errorBody(status, message, reason));
      },
    );
  };
}

const internalError = new ApiFault(500, 'an internal error: see the log of the replica');

/** Undefined: the answer was streamed. */
async function answer(
  deps: ApiHandlerDeps,
  { request, response }: { readonly request: IncomingMessage; readonly response: ServerResponse },
  signal: AbortSignal,
): Promise<object | undefined> {
  const { method = '', headers, url = '' } = request;
  if (method !== 'GET' && method !== 'HEAD') throw new ApiFault(405, `only GET and HEAD are answered, not ${method}`);
  if (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) !== 0)
    throw new ApiFault(400, 'a request with a body is not answered');
  // Before the path is read: callers without a token learn nothing about it.
  const caller = await deps.identify(request, signal);
  if (method === 'GET' && url === streamPath) {
    await deps.api.stream.serve(request, response, caller, signal);
    return undefined;
  }
  return deps.api.answer(parseApiRequest(url), caller, signal);
}

const streamPath = `${apiRoot}/stream`;

function fileOf(files: StaticFiles, { method = '', url = '' }: IncomingMessage): StaticFile | undefined {
  const [path = ''] = url.split('?', 1);
  return method === 'GET' || method === 'HEAD' ? files(path) : undefined;
}

function sendFile({ method, headers }: IncomingMessage, response: ServerResponse, file: StaticFile): void {
  const isPacked = /\bgzip\b/.test(headers['accept-encoding']?.toString() ?? '');
  const body = isPacked ? file.gzip : file.body;
  response.writeHead(200, {
    ...file.headers,
    'content-length': body.length,
    vary: 'accept-encoding',
    ...(isPacked ? { 'content-encoding': 'gzip' } : {}),
  });
  response.end(method === 'HEAD' ? undefined : body);
}

function send(request: IncomingMessage, response: ServerResponse, status: number, body: object): void {
  const text = `${withoutUserInfo(JSON.stringify(body))}\n`;
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...(status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
    ...(status === 405 ? { allow: 'GET, HEAD' } : {}),
    // A body that was sent with a refused request must not be read as the next request.
    ...(status === 400 || status === 405 ? { connection: 'close' } : {}),
  });
  response.end(request.method === 'HEAD' ? undefined : text);
}
