import { connect, createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';

/**
 * Forwards connections to a port on loopback. While it hangs, it accepts them silently; while it
 * refuses, it closes them.
 */
export class HangingProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #hangs = false;
  #refuses = false;

  private constructor(targetPort: number) {
    this.#server = createServer((near) => this.#accept(near, targetPort));
  }

  static async start(targetPort: number): Promise<HangingProxy> {
    const proxy = new HangingProxy(targetPort);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Stops all bytes, also of open connections. */
  hang(): void {
    this.#hangs = true;
    for (const socket of this.#sockets) socket.unpipe().pause();
  }

  refuse(): void {
    this.#refuses = true;
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  /** Resets the connections that hang, and forwards new ones. */
  heal(): void {
    this.#hangs = false;
    this.#refuses = false;
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #accept(near: Socket, targetPort: number): void {
    this.#keep(near);
    if (this.#refuses) near.resetAndDestroy();
    if (this.#hangs || this.#refuses) return;
    const far = connect(targetPort, '127.0.0.1');
    this.#keep(far);
    near.pipe(far).pipe(near);
    near.once('close', () => far.destroy());
    far.once('close', () => near.destroy());
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => this.#sockets.delete(socket));
  }
}
