import { request as httpRequest } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { messageOf, omit } from '#base';
import { SimError } from '../status.ts';

/** A request for `pods/proxy`. */
export interface PodProxyRequest {
  readonly namespace: string;
  readonly pod: string;
  readonly port: number;
  readonly isHttps: boolean;
  /** With query. */
  readonly path: string;
}

/** `/api/v1/namespaces/NAMESPACE/pods/[https:]POD[:PORT]/proxy/…`; undefined for another path. */
export function podProxyRequest(url: string): PodProxyRequest | undefined {
  const [, namespace = '', target = '', path = ''] =
    /^\/api\/v1\/namespaces\/([^/?]+)\/pods\/([^/?]+)\/proxy(\/[^#]*|\?[^#]*)?$/.exec(url) ?? [];
  const words = decodeURIComponent(target).split(':');
  const isHttps = words[0] === 'https';
  const [pod = '', port] = words.length === 3 ? words.slice(1) : words;
  if (pod === '') return undefined;
  return {
    namespace: decodeURIComponent(namespace),
    pod,
    port: Number(port ?? (isHttps ? 443 : 80)),
    isHttps,
    path: path.startsWith('/') ? path : `/${path}`,
  };
}

/**
 * Forwards a request to a pod, as the real server does: without the caller's credentials, and
 * without a check of the pod's certificate.
 */
export function forwardToPod(
  { port, isHttps, path }: PodProxyRequest,
  host: string,
  incoming: IncomingMessage,
  response: ServerResponse,
): void {
  const headers = omit(incoming.headers, 'authorization', 'host', 'connection');
  const options = { host, port, path, method: incoming.method, headers };
  const outgoing = isHttps ? httpsRequest({ ...options, rejectUnauthorized: false }) : httpRequest(options);
  outgoing.on('response', (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
    answer.on('error', () => response.destroy());
  });
  outgoing.on('error', (error) => {
    if (response.headersSent) {
      response.destroy();
      return;
    }
    const failure = new SimError(503, 'ServiceUnavailable', `error trying to reach service: ${messageOf(error)}`);
    response.writeHead(503, { 'content-type': 'application/json' }).end(JSON.stringify(failure.status()));
  });
  response.on('close', () => outgoing.destroy());
  incoming.pipe(outgoing);
}
