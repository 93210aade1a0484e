import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createGzip } from 'node:zlib';
import type { MetricSource } from './metrics.ts';

const contentType = 'text/plain; version=0.0.4; charset=utf-8';

/**
 * Answers a scrape like Argo CD (promhttp): text format 0.0.4 whatever the client accepts, since
 * OpenMetrics is off there too, compressed if the client accepts gzip, and no body for HEAD. The
 * answer is streamed at the pace of the reader. Resolves when it is sent or the reader has left.
 */
export async function sendMetrics(
  request: IncomingMessage,
  response: ServerResponse,
  metrics: MetricSource,
): Promise<void> {
  const isGzip = acceptsGzip(request.headers['accept-encoding'] ?? '');
  response.setHeader('content-type', contentType);
  response.setHeader('vary', 'accept-encoding');
  if (isGzip) response.setHeader('content-encoding', 'gzip');
  if (request.method === 'HEAD') {
    response.end();
    return;
  }
  const text = Readable.from(metrics.chunks());
  const sent = isGzip
    ? pipeline(text, createGzip({ level: constants.Z_BEST_SPEED }), response)
    : pipeline(text, response);
  await sent.catch((error: unknown) => {
    if ((error as { readonly code?: unknown }).code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
  });
}

/** Reads an Accept-Encoding header: `gzip` or `*` with a weight above 0. */
function acceptsGzip(header: string): boolean {
  const weights = new Map<string, number>();
  for (const part of header.split(',')) {
    const [coding = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase());
    const weight = parameters.find((text) => text.startsWith('q='));
    weights.set(coding, weight === undefined ? 1 : Number(weight.slice(2)));
  }
  return (weights.get('gzip') ?? weights.get('*') ?? 0) > 0;
}
