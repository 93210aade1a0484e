import { connect, createServer } from 'node:net';
import type { Server, Socket } from 'node:net';

export interface SocksProxyOptions {
  /** Required `user:password`; without it the proxy requires no login. */
  readonly login?: string;
  /** Reply code (RFC 1928) with which the proxy rejects each request. */
  readonly refuse?: number;
  /** The proxy accepts connections and never answers. */
  readonly silent?: boolean;
}

/** A SOCKS 5 proxy on 127.0.0.1 that connects every name to this machine. */
export class SocksProxy {
  /** The requested targets: kind of address, address, port. */
  readonly asked: string[] = [];
  /** Open connections of clients. */
  open = 0;
  readonly #options: SocksProxyOptions;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(options: SocksProxyOptions) {
    this.#options = options;
    this.#server = createServer((near) => {
      this.open += 1;
      near.once('close', () => (this.open -= 1));
      this.#keep(near);
      if (options.silent === true) near.resume();
      else void this.#serve(near).catch(() => near.destroy());
    });
  }

  static async start(options: SocksProxyOptions = {}): Promise<SocksProxy> {
    const proxy = new SocksProxy(options);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get port(): number {
    const address = this.#server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  async #serve(near: Socket): Promise<void> {
    const read = reader(near);
    const [, count = 0] = await read(2);
    const methods = await read(count);
    const { login, refuse } = this.#options;
    const wanted = login === undefined ? 0 : 2;
    near.write(Uint8Array.of(5, methods.includes(wanted) ? wanted : 0xff));
    if (!methods.includes(wanted)) return;
    if (login !== undefined) {
      const [, length = 0] = await read(2);
      const user = (await read(length)).toString();
      const password = (await read((await read(1))[0] ?? 0)).toString();
      const isRight = `${user}:${password}` === login;
      near.write(Uint8Array.of(1, isRight ? 0 : 1));
      if (!isRight) return;
    }
    const [, , , kind = 0] = await read(4);
    const host =
      kind === 3 ? (await read((await read(1))[0] ?? 0)).toString() : (await read(kind === 1 ? 4 : 16)).join('.');
    const port = (await read(2)).readUInt16BE();
    this.asked.push(`${kind === 3 ? 'name' : 'address'} ${host}:${port}`);
    if (refuse !== undefined) near.write(Uint8Array.of(5, refuse, 0, 1, 0, 0, 0, 0, 0, 0));
    else this.#join(near, port);
  }

  #join(near: Socket, port: number): void {
    const far = connect(port, '127.0.0.1', () => {
      near.write(Uint8Array.of(5, 0, 0, 1, 127, 0, 0, 1, 0, 80));
      near.removeAllListeners('data');
      near.pipe(far);
      far.pipe(near);
    });
    this.#keep(far);
    near.once('close', () => far.destroy());
    far.once('close', () => near.destroy());
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => this.#sockets.delete(socket));
  }
}

function reader(socket: Socket): (count: number) => Promise<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  let wake: () => void = () => undefined;
  socket.on('data', (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk]);
    wake();
  });
  return async (count) => {
    while (rest.length < count)
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    const taken = rest.subarray(0, count);
    rest = rest.subarray(count);
    return taken;
  };
}
