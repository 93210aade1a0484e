import { createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';

/** Response to a command in protocol bytes, or none. */
type RespReply = string | undefined;

/** Overrides the usual response. */
export type ReplyOverride = (command: readonly string[]) => RespReply | typeof usualReply;

export const usualReply = Symbol('the usual answer');

const ok = '+OK\r\n';

export function error(message: string): string {
  return `-${message}\r\n`;
}

export function bulk(text: string): string {
  return `$${Buffer.byteLength(text)}\r\n${text}\r\n`;
}

/**
 * Server on a real socket with the subset of the Redis protocol that we use, and faults on demand.
 * Normal behavior is tested with a real Redis.
 */
export class RespServer {
  readonly commands: string[][] = [];
  readonly values = new Map<string, string>();
  fault: ReplyOverride = () => usualReply;
  password = '';
  runId = 'a1';
  readonly #server: Server = createServer((socket) => this.#serve(socket));
  readonly #sockets = new Set<Socket>();

  static async start(): Promise<RespServer> {
    const server = new RespServer();
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve));
    return server;
  }

  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Ends all connections. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async stop(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #serve(socket: Socket): void {
    const state = { known: this.password === '', buffer: Buffer.alloc(0) };
    this.#sockets.add(socket);
    socket.on('close', () => this.#sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    socket.on('data', (data) => {
      state.buffer = Buffer.concat([state.buffer, data]);
      for (let read = readCommand(state.buffer); read !== undefined; read = readCommand(state.buffer)) {
        state.buffer = state.buffer.subarray(read.length);
        this.commands.push(read.words);
        const faulty = this.fault(read.words);
        const answer = faulty === usualReply ? this.#answer(read.words, state) : faulty;
        if (answer !== undefined && !socket.destroyed) socket.write(answer);
      }
    });
  }

  #answer([name = '', ...args]: readonly string[], state: { known: boolean }): string {
    const command = name.toLowerCase();
    if (command === 'auth') {
      state.known = args.at(-1) === this.password;
      return state.known ? ok : error('WRONGPASS invalid username-password pair or user is disabled.');
    }
    if (!state.known) return error('NOAUTH Authentication required.');
    if (command === 'set') this.values.set(args[0] ?? '', args[1] ?? '');
    const number = (n: number): string => `:${n}\r\n`;
    const answers: Readonly<Record<string, () => string>> = {
      info: () => bulk(`# Server\r\nredis_version:7.0.15\r\nrun_id:${this.runId}\r\n`),
      ping: () => '+PONG\r\n',
      exists: () => number(args.filter((key) => this.values.has(key)).length),
      del: () => number(args.filter((key) => this.values.delete(key)).length),
      publish: () => number(0),
    };
    return answers[command]?.() ?? ok;
  }
}

/** Reads the first complete command, an array of bulk strings. */
function readCommand(buffer: Buffer): { readonly words: string[]; readonly length: number } | undefined {
  let at = 0;
  const line = (): string | undefined => {
    const end = buffer.indexOf('\r\n', at);
    if (end < 0) return undefined;
    const text = buffer.toString('latin1', at, end);
    at = end + 2;
    return text;
  };
  const head = line();
  if (head === undefined) return undefined;
  const words: string[] = [];
  for (let left = Number(head.slice(1)); left > 0; left -= 1) {
    const size = Number(line()?.slice(1) ?? Number.NaN);
    if (Number.isNaN(size) || buffer.length < at + size + 2) return undefined;
    words.push(buffer.toString('utf8', at, at + size));
    at += size + 2;
  }
  return { words, length: at };
}
