import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { buildConnector } from 'undici';
import { abortable, DeadlineExceeded, isAbort, messageOf, newAbortController, outsideText, withDeadline } from '#base';
import type { Clock } from '#base';
import { wordsOf } from './connection-error.ts';
import { KubeConnectionError } from './errors.ts';
import type { TlsOptions } from './http-types.ts';

export interface SocksOptions {
  readonly clock: Clock;
  /** For the way to the proxy and what is said there, together. */
  readonly timeoutMs: number;
}

interface Proxy {
  readonly host: string;
  readonly port: number;
  readonly login: { readonly userId?: string; readonly password?: string };
}

const standardPort = 1080;
const longestWord = 255;

/** What the library says of a proxy, in words for people. Permanent: somebody has to change a setting. */
const answers: readonly (readonly [said: RegExp, words: string, permanent: boolean])[] = [
  [/no accepted authentication/, 'it wants other credentials than its URL has', true],
  [/unknown authentication/, 'it wants credentials of a kind that is not known', true],
  [/authentication failed/i, 'it refuses user and password', true],
  [/invalid socks version/, 'it does not speak SOCKS 5', true],
  [/- NotAllowed/, 'its rules do not allow it', true],
  [/- NetworkUnreachable/, 'the network of the server cannot be reached', false],
  [/- HostUnreachable/, 'the server cannot be reached, or its name is not known there', false],
  [/- ConnectionRefused/, 'the server refuses the connection', false],
  [/- TTLExpired/, 'the way to the server is too long', false],
  [/- (?:Command|Address)NotSupported/, 'it does not support what was asked for', true],
  [/rejected connection/, 'it failed', false],
  [/Socket closed/, 'it closed the connection', false],
];

/** Is this the URL of a SOCKS proxy? */
export function isSocks(proxyUrl: string): boolean {
  return /^socks5h?:\/\//i.test(proxyUrl);
}

/**
 * Connections to one API server through a SOCKS 5 proxy (RFC 1928, RFC 1929). As in client-go the proxy gets the name of the server, not its address, and user and
 * password when it asks for them. All that goes wrong is a KubeConnectionError in which nothing of the credentials stands: nothing was sent to the server yet.
 */
export class SocksTunnels {
  readonly #server: string;
  readonly #shown: string;
  readonly #proxy: Proxy;
  readonly #options: SocksOptions;
  readonly #closing = newAbortController();

  /** @throws KubeConnectionError when the URL of the proxy is none. */
  constructor(server: string, proxyUrl: string, options: SocksOptions) {
    this.#server = server;
    this.#shown = outsideText('url', proxyUrl);
    this.#options = options;
    this.#proxy = this.#parsed(proxyUrl);
  }

  /**
   * A connection to the server's port, on which nothing was said yet.
   * @throws KubeConnectionError; the signal's reason when it aborts.
   */
  async open(signal: AbortSignal, keepAliveInitialDelay: number): Promise<Socket> {
    const { clock, timeoutMs } = this.#options;
    const { host, port } = this.#proxy;
    // Loaded by the few who need it.
    const { SocksClient } = await import('socks');
    signal.throwIfAborted();
    const socket = connect({ host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay });
    // Between two owners nobody else listens, and an error that nobody hears ends the process.
    socket.on('error', () => undefined);
    try {
      return await withDeadline(signal, { clock, limitMs: timeoutMs, what: 'connecting' }, async (limited) => {
        await abortable(connected(socket), limited);
        const proxy = { ...this.#proxy.login, host, port, type: 5 } as const;
        await SocksClient.createConnection({
          command: 'connect',
          existing_socket: socket,
          proxy,
          destination: this.#target(),
        });
        return socket;
      });
    } catch (error) {
      socket.destroy();
      if (signal.aborted) throw signal.reason;
      throw this.#explained(error);
    }
  }

  /** For undici: the tunnel, and TLS in it where the server speaks that. */
  connector(tls: TlsOptions & { readonly timeout: number }): buildConnector.connector {
    const secure = buildConnector(tls);
    return (options, callback) => {
      this.open(this.#closing.signal, tls.keepAliveInitialDelay).then(
        (socket) => {
          if (options.protocol === 'https:')
            this.#inTunnel(socket, callback, () => secure({ ...options, httpSocket: socket }, callback));
          else callback(null, socket);
        },
        (error: unknown) => callback(isAbort(error) ? this.#error('this client is closed') : (error as Error), null),
      );
    };
  }

  /** A certificate that cannot be read is thrown, and not handed to the callback. */
  #inTunnel(socket: Socket, callback: buildConnector.Callback, begin: () => void): void {
    try {
      begin();
    } catch (error) {
      socket.destroy();
      callback(error as Error, null);
    }
  }

  /** Ends what is being connected for undici, which would wait for it. */
  destroy(): void {
    this.#closing.abort();
  }

  /** The URL parser writes an IPv6 address in brackets. */
  #target(): { readonly host: string; readonly port: number } {
    const { protocol, hostname, port } = new URL(this.#server);
    return { host: bare(hostname), port: port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port) };
  }

  #parsed(proxyUrl: string): Proxy {
    try {
      const { hostname, port, username, password } = new URL(proxyUrl);
      const login = {
        ...(username === '' ? {} : { userId: decodeURIComponent(username) }),
        ...(password === '' ? {} : { password: decodeURIComponent(password) }),
      };
      // The library would throw where nobody can catch it.
      const tooLong = [hostname, ...Object.values(login)].some((word) => Buffer.byteLength(word) > longestWord);
      if (hostname !== '' && !tooLong)
        return { host: bare(hostname), port: port === '' ? standardPort : Number(port), login };
    } catch {
      // The parser's message may quote what it read.
    }
    throw this.#error('this is no URL of a proxy', true);
  }

  #explained(error: unknown): KubeConnectionError {
    if (error instanceof DeadlineExceeded) return this.#error('connecting took too long');
    // The library's errors carry the credentials in `options`: none is handed on, not even as a cause.
    const said = messageOf(error);
    const known = answers.find(([pattern]) => pattern.test(said));
    if (known !== undefined) return this.#error(known[1], known[2]);
    return this.#error(wordsOf(error));
  }

  #error(words: string, permanent = false): KubeConnectionError {
    return new KubeConnectionError(this.#server, `its proxy ${this.#shown}: ${words}`, undefined, {
      neverSent: true,
      permanent,
      unreachable: !permanent,
    });
  }
}

function connected(socket: Socket): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once('connect', resolve);
    socket.once('error', reject);
    socket.once('close', () => reject(new Error('Socket closed')));
  });
}

function bare(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '');
}
