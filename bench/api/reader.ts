import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/** An answer of the read API. */
export interface PageRead {
  /** From the request to the last byte, on a connection that is open already. */
  readonly ms: number;
  readonly bytes: number;
}

const readerCode = `
  const { Agent, get } = require('node:https');
  const { parentPort } = require('node:worker_threads');
  const agent = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false });
  parentPort.on('message', ({ port, path }) => {
    const begin = performance.now();
    const headers = { authorization: 'Bearer bench' };
    const request = get({ port, path, host: '127.0.0.1', agent, headers }, (response) => {
      let [bytes, text] = [0, ''];
      response.on('data', (data) => {
        bytes += data.length;
        if (response.statusCode !== 200) text += data;
      });
      response.on('end', () =>
        parentPort.postMessage({ ms: performance.now() - begin, bytes, status: response.statusCode, text }));
    });
    request.on('error', (error) => parentPort.postMessage({ ms: 0, bytes: 0, status: 0, text: error.message }));
  });
  parentPort.postMessage({});`;

/** Reads pages over HTTPS from another thread, so that its own work does not count as the API's. */
export class PageReader {
  readonly #thread: Worker;

  private constructor(thread: Worker) {
    this.#thread = thread;
  }

  static async start(): Promise<PageReader> {
    const thread = new Worker(readerCode, { eval: true });
    await once(thread, 'message');
    return new PageReader(thread);
  }

  /** Reads one page at a time. */
  async read(port: number, path: string): Promise<PageRead> {
    const answer = once(this.#thread, 'message');
    this.#thread.postMessage({ port, path });
    const [{ ms, bytes, status, text }] = (await answer) as [PageRead & { status: number; text: string }];
    if (status !== 200) throw new Error(`${path} was answered with ${status}: ${text}`);
    return { ms, bytes };
  }

  async stop(): Promise<void> {
    await this.#thread.terminate();
  }
}
