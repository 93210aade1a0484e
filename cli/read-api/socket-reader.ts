import { request } from 'node:http';
import { messageOf, systemClock, withDeadline } from '#base';
import { answerMessage } from '#kube';
import type { Json } from '#base';
import { hasReason } from './api-reader.ts';
import type { ApiReader } from './api-reader.ts';
import { ReadApiError } from './proxy-reader.ts';

const deadlineMs = 15_000;

/** Reads pages over the Unix socket of a controller on this machine. */
export class SocketReader implements ApiReader {
  readonly #path: string;
  readonly #signal: AbortSignal;

  constructor(path: string, signal: AbortSignal) {
    this.#path = path;
    this.#signal = signal;
  }

  async get(path: string): Promise<unknown> {
    const what = `asking the controller at ${this.#path}`;
    const { status, text } = await withDeadline(
      this.#signal,
      { clock: systemClock, limitMs: deadlineMs, what },
      (signal) => this.#request(`/api/v1${path}`, signal),
    );
    const body = this.#parsed(text);
    if (status === 200) return body;
    if (status === 404 && !hasReason(body)) return undefined;
    throw new ReadApiError(answerMessage(body));
  }

  #parsed(text: string): Json {
    try {
      return JSON.parse(text) as Json;
    } catch (error) {
      throw new ReadApiError(`the controller at ${this.#path} does not answer with JSON`, error);
    }
  }

  #request(path: string, signal: AbortSignal): Promise<{ readonly status: number; readonly text: string }> {
    return new Promise((resolve, reject) => {
      const fail = (error: unknown): void =>
        reject(
          signal.aborted
            ? (signal.reason as Error)
            : new ReadApiError(`no controller answers at ${this.#path}: ${messageOf(error)}`, error),
        );
      const outgoing = request({ socketPath: this.#path, path, signal }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', fail);
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString('utf8') }),
        );
      });
      outgoing.on('error', fail).end();
    });
  }
}
