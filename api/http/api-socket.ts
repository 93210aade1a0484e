import { chmod, lstat, mkdir, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { RequestListener, Server } from 'node:http';
import { dirname } from 'node:path';
import { untilAborted, DriftlessError } from '#base';
import type { Runnable } from '#base';
import type { Logger } from '#telemetry';

export interface ApiSocketOptions {
  readonly path: string;
  readonly logger: Logger;
  readonly answer: RequestListener;
  /** User of this process; undefined on systems without user IDs. */
  readonly uid: number | undefined;
}

/** Maximum length of a Unix socket path on Linux, without the terminating zero. */
const maxPathBytes = 107;

/**
 * Serves the read API to this machine without a token. The Unix socket has mode 0600 in a folder of
 * mode 0700, so only the controller's user can read it: a request from loopback (a tenant's source,
 * a sidecar) gets nothing. A socket that cannot be opened is a warning; the controller continues.
 */
export class ApiSocket implements Runnable {
  readonly name = 'read API socket';
  readonly #options: ApiSocketOptions;
  #opened: (() => void) | undefined;
  readonly #ready = new Promise<void>((resolve) => {
    this.#opened = resolve;
  });

  constructor(options: ApiSocketOptions) {
    this.#options = options;
  }

  /** Resolves when the socket listens, or has failed. */
  ready(): Promise<void> {
    return this.#ready;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { logger, path, answer } = this.#options;
    const server = createServer(answer);
    try {
      await this.#listen(server);
      logger.info('Serving the read API on its Unix socket', { socket: path });
    } catch (error) {
      logger.warn('The read API has no Unix socket; set --debug-socket to a path in a folder of the controller', {
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
      throw new ApiSocketError(`the path ${path} is longer than ${maxPathBytes} bytes`);
    await this.#ownFolder(dirname(path));
    const left = await lstat(path).catch(() => undefined);
    if (left !== undefined && !left.isSocket()) throw new ApiSocketError(`${path} exists and is not a socket`);
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

  /** @throws ApiSocketError if others own the folder or can enter it */
  async #ownFolder(folder: string): Promise<void> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const { uid } = this.#options;
    const found = await lstat(folder);
    const isOwn = found.isDirectory() && (uid === undefined || found.uid === uid);
    if (!isOwn) throw new ApiSocketError(`${folder} belongs to another user`);
    if ((found.mode & 0o077) !== 0) throw new ApiSocketError(`${folder} is accessible to others: set mode 0700`);
  }
}

class ApiSocketError extends DriftlessError {
  constructor(message: string) {
    super('DEBUG_SOCKET', message, { retry: 'never' });
  }
}
