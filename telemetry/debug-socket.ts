import { chmod, lstat, mkdir, rm } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import type { RequestListener, Server } from 'node:http';
import { dirname } from 'node:path';
import { untilAborted, DriftlessError, messageOf } from '#base';
import type { Runnable } from '#base';
import type { Logger } from './log.ts';

export interface DebugSocketOptions {
  readonly path: string;
  readonly logger: Logger;
  /** Plain values that describe this replica; served as JSON at /debug/state. */
  readonly state: () => unknown;
  /** Answers all other paths: the read API. */
  readonly answer?: RequestListener;
  /** User of this process; undefined on systems without user IDs. */
  readonly uid: number | undefined;
}

/** Maximum length of a Unix socket path on Linux, without the terminating zero. */
const maxPathBytes = 107;
export const debugStatePath = '/debug/state';

/**
 * Serves the state of a replica, which names repositories, clusters and their answers. The Unix
 * socket has mode 0600 in a folder of mode 0700, so only the controller's user can read it: a
 * request from loopback (a tenant's source, a sidecar) gets nothing. A socket that cannot be opened
 * is a warning; the controller continues.
 */
export class DebugSocket implements Runnable {
  readonly name = 'debug socket';
  readonly #options: DebugSocketOptions;
  #opened: (() => void) | undefined;
  readonly #ready = new Promise<void>((resolve) => {
    this.#opened = resolve;
  });

  constructor(options: DebugSocketOptions) {
    this.#options = options;
  }

  /** Resolves when the socket listens, or has failed. */
  ready(): Promise<void> {
    return this.#ready;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { logger, path, state, answer } = this.#options;
    const server = createServer((incoming, response) => {
      const isKnown = incoming.url === debugStatePath;
      if (!isKnown && answer !== undefined) {
        answer(incoming, response);
        return;
      }
      const body = isKnown ? JSON.stringify(state(), bigintAsText) : `not found: try ${debugStatePath}\n`;
      response.writeHead(isKnown ? 200 : 404, { 'content-type': isKnown ? 'application/json' : 'text/plain' });
      response.end(body);
    });
    try {
      await this.#listen(server);
      logger.info('Serving the debug state', { socket: path });
    } catch (error) {
      logger.warn('The debug state is not served; set --debug-socket to a path in a folder of the controller', {
        socket: path,
        error,
      });
      this.#opened?.();
      await untilAborted(signal);
      return;
    }
    this.#opened?.();
    await untilAborted(signal);
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }

  async #listen(server: Server): Promise<void> {
    const { path } = this.#options;
    if (Buffer.byteLength(path) > maxPathBytes)
      throw new DebugSocketError(`the path ${path} is longer than ${maxPathBytes} bytes`);
    await this.#ownFolder(dirname(path));
    const left = await lstat(path).catch(() => undefined);
    if (left !== undefined && !left.isSocket()) throw new DebugSocketError(`${path} exists and is not a socket`);
    // A killed process left the socket behind: the folder belongs to this process.
    if (left !== undefined) await rm(path);
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(path, () => {
        server.off('error', reject);
        resolve();
      });
    });
    await chmod(path, 0o600);
  }

  /** @throws DebugSocketError if others own the folder or can enter it */
  async #ownFolder(folder: string): Promise<void> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const { uid } = this.#options;
    const found = await lstat(folder);
    const isOwn = found.isDirectory() && (uid === undefined || found.uid === uid);
    if (!isOwn) throw new DebugSocketError(`${folder} belongs to another user`);
    if ((found.mode & 0o077) !== 0) throw new DebugSocketError(`${folder} is accessible to others: set mode 0700`);
  }
}

class DebugSocketError extends DriftlessError {
  constructor(message: string) {
    super('DEBUG_SOCKET', message, { retry: 'never' });
  }
}

/**
 * Returns the answer of the controller behind a debug socket.
 * @throws DebugSocketError if none answers
 */
export function askDebugSocket(path: string, signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    const fail = (error: unknown): void =>
      reject(
        signal.aborted
          ? (signal.reason as Error)
          : new DebugSocketError(`no controller answers at ${path}: ${messageOf(error)}`),
      );
    const outgoing = request({ socketPath: path, path: debugStatePath, signal }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', fail);
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        if (response.statusCode === 200) resolve(text);
        else fail(new Error(`status ${response.statusCode ?? 0}`));
      });
    });
    outgoing.on('error', fail).end();
  });
}

function bigintAsText(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}
