import { connect, createServer } from 'node:net';
import type { Server, Socket } from 'node:net';

/**
 * An HTTP proxy (CONNECT) or a plain relay between client and server, which can drop all traffic
 * silently.
 */
export class Relay {
  /** Targets of CONNECT requests, with the proxy credentials sent. */
  readonly connectRequests: string[] = [];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #frozen = false;

  private constructor(target: URL | undefined) {
    this.#server = createServer((near) => {
      this.#keep(near);
      if (target !== undefined) this.#join(near, target.hostname, Number(target.port));
      else near.once('data', (head: Buffer) => this.#tunnel(near, head.toString('latin1')));
    });
  }

  /** @param target where to relay to; if missing, an HTTP proxy. */
  static async start(target?: URL): Promise<Relay> {
    const relay = new Relay(target);
    await new Promise<void>((resolve) => relay.#server.listen(0, '127.0.0.1', resolve));
    return relay;
  }

  get port(): number {
    const address = this.#server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  }

  /** From now on drops all bytes silently. */
  freeze(): void {
    this.#frozen = true;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #tunnel(near: Socket, head: string): void {
    const [, host = '', port = ''] = /^CONNECT ([^:]+):(\d+) /.exec(head) ?? [];
    const shown = /^proxy-authorization: (.*)$/im.exec(head)?.[1]?.trim() ?? 'nobody';
    this.connectRequests.push(`${host}:${port} by ${shown}`);
    near.write('HTTP/1.1 200 Connection established\r\n\r\n');
    this.#join(near, host, Number(port));
  }

  #join(near: Socket, host: string, port: number): void {
    const far = connect(port, host);
    this.#keep(far);
    near.on('data', (data) => this.#pass(far, data));
    far.on('data', (data) => this.#pass(near, data));
    near.once('close', () => far.destroy());
    far.once('close', () => near.destroy());
  }

  #pass(to: Socket, data: Buffer | string): void {
    if (!this.#frozen) to.write(data);
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => this.#sockets.delete(socket));
  }
}
