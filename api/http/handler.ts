import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { newAbortController, Shutdown } from '#base';
import type { Logger } from '#telemetry';
import type { Caller } from '../access/viewer.ts';
import { ApiFault, errorBody } from '../fault.ts';
import type { ReadApi } from '../read-api.ts';
import { parseApiRequest } from '../request.ts';

export interface ApiHandlerDeps {
  readonly api: ReadApi;
  /** Identifies the caller. @throws ApiFault */
  readonly identify: (request: IncomingMessage, signal: AbortSignal) => Promise<Caller>;
  readonly logger: Logger;
}

/** Answers GET and HEAD requests of the read API. Nothing that it serves changes anything. */
export function createApiHandler(deps: ApiHandlerDeps): RequestListener {
  return (request, response) => {
    const gone = newAbortController();
    response.on('close', () => gone.abort(new Shutdown('the caller is gone')));
    answer(deps, request, gone.signal).then(
      (body) => send(request, response, 200, body),
      (error: unknown) => {
        if (gone.signal.aborted) return;
        if (!(error instanceof ApiFault)) deps.logger.warn('A request of the read API failed', { error });
        const [status, message] =
          error instanceof ApiFault
            ? [error.status, error.message]
            : [500, 'an internal error: see the log of the replica'];
        send(request, response, status, errorBody(status, message));
      },
    );
  };
}

async function answer(deps: ApiHandlerDeps, request: IncomingMessage, signal: AbortSignal): Promise<object> {
  const { method = '', headers, url = '' } = request;
  if (method !== 'GET' && method !== 'HEAD') throw new ApiFault(405, `only GET and HEAD are answered, not ${method}`);
  if (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) !== 0)
    throw new ApiFault(400, 'a request with a body is not answered');
  // Before the path is read: callers without a token learn nothing about it.
  const caller = await deps.identify(request, signal);
  return deps.api.answer(parseApiRequest(url), caller, signal);
}

/** User and password of an address, wherever it is: also of a cluster. */
const userInfo = /:\/\/[^\s"\\/?#@]{1,512}@/g;

function send(request: IncomingMessage, response: ServerResponse, status: number, body: object): void {
  const text = `${JSON.stringify(body).replace(userInfo, '://')}\n`;
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
