import { connect } from 'node:net';
import type { LookupFunction, Socket } from 'node:net';
import { buildConnector } from 'undici';
import { abortable, DeadlineExceeded, isAbort, messageOf, newAbortController, outsideText, withDeadline } from '#base';
import type { Clock } from '#base';
import { connectionErrorText } from './connection-error.ts';
import { KubeConnectionError } from '../errors.ts';

export interface SocksOptions {
  readonly clock: Clock;
  /** Timeout of connecting to the proxy, including its handshake; 0: none. */
  readonly timeoutMs: number;
  /** Resolves the proxy's name; absent: as Node does. */
  readonly lookup?: LookupFunction;
}

interface SocksProxyAddress {
  readonly host: string;
  readonly port: number;
  readonly login: { readonly userId?: string; readonly password?: string };
}

const defaultSocksPort = 1080;
const maxFieldBytes = 255;

/** Messages for errors of the library. `permanent`: a retry fails until a setting is changed. */
const proxyErrors: readonly (readonly [said: RegExp, words: string, permanent: boolean])[] = [
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

/** Reports whether this is the URL of a SOCKS proxy. */
export function isSocks(proxyUrl: string): boolean {
  return /^socks5h?:\/\//i.test(proxyUrl);
}

/**
 * Connections to one server through a SOCKS 5 proxy (RFC 1928, RFC 1929). As in client-go, the
 * proxy gets the server's name, not its address, and user and password if it asks for them. Every
 * failure is a KubeConnectionError that shows no credentials, and that permits a retry of writes:
 * nothing was sent to the server yet.
 */
export class SocksTunnels {
  readonly #server: string;
  readonly #shown: string;
  readonly #proxy: SocksProxyAddress;
  readonly #options: SocksOptions;
  readonly #closing = newAbortController();

  /** @throws KubeConnectionError if the proxy URL is invalid. */
  constructor(server: string, proxyUrl: string, options: SocksOptions) {
    this.#server = server;
    this.#shown = outsideText('url', proxyUrl);
    this.#options = options;
    this.#proxy = this.#parsed(proxyUrl);
  }

  /**
   * A fresh connection to the server's port.
   * @throws KubeConnectionError; the signal's reason when it aborts.
   */
  async open(signal: AbortSignal, keepAliveInitialDelay: number): Promise<Socket> {
    const { clock, timeoutMs, lookup } = this.#options;
    const { host, port } = this.#proxy;
    // Loaded only when needed.
    const { SocksClient } = await import('socks');
    signal.throwIfAborted();
    const address = { host, port, ...(lookup === undefined ? {} : { lookup }) };
    const socket = connect({ ...address, noDelay: true, keepAlive: true, keepAliveInitialDelay });
    // While the socket is handed over it has no other listener, and an error without a listener
    // would end the process.
    socket.on('error', () => undefined);
    try {
      return await withDeadline(
        signal,
        { clock, limitMs: timeoutMs === 0 ? Number.POSITIVE_INFINITY : timeoutMs, what: 'connecting' },
        async (limited) => {
          await abortable(waitForConnect(socket), limited);
          const proxy = { ...this.#proxy.login, host, port, type: 5 } as const;
          await SocksClient.createConnection({
            command: 'connect',
            existing_socket: socket,
            proxy,
            destination: this.#target(),
          });
          return socket;
        },
      );
    } catch (error) {
      socket.destroy();
      if (signal.aborted) throw signal.reason;
      throw this.#explained(error);
    }
  }

  /** For undici: the tunnel, with TLS in it if the server uses TLS. */
  connector(tls: buildConnector.BuildOptions & { readonly keepAliveInitialDelay: number }): buildConnector.connector {
    const secure = buildConnector(tls);
    return (options, callback) => {
      this.open(this.#closing.signal, tls.keepAliveInitialDelay).then(
        (socket) => {
          if (options.protocol === 'https:')
            upgradeSocket(socket, callback, () => secure({ ...options, httpSocket: socket }, callback));
          else callback(null, socket);
        },
        (error: unknown) => callback(isAbort(error) ? this.#error('this client is closed') : (error as Error), null),
      );
    };
  }

  /** Aborts connection attempts, which undici would wait for when it is destroyed. */
  destroy(): void {
    this.#closing.abort();
  }

  /** Host and port of the server. In a URL, an IPv6 address has brackets. */
  #target(): { readonly host: string; readonly port: number } {
    const { protocol, hostname, port } = new URL(this.#server);
    return { host: withoutBrackets(hostname), port: port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port) };
  }

  #parsed(proxyUrl: string): SocksProxyAddress {
    try {
      const { hostname, port, username, password } = new URL(proxyUrl);
      const login = {
        ...(username === '' ? {} : { userId: decodeURIComponent(username) }),
        ...(password === '' ? {} : { password: decodeURIComponent(password) }),
      };
      // The library would throw where no caller can catch it.
      const tooLong = [hostname, ...Object.values(login)].some((word) => Buffer.byteLength(word) > maxFieldBytes);
      if (hostname !== '' && !tooLong)
        return { host: withoutBrackets(hostname), port: port === '' ? defaultSocksPort : Number(port), login };
    } catch {
      // The parser's message may quote the URL.
    }
    throw this.#error('this is no URL of a proxy', true);
  }

  #explained(error: unknown): KubeConnectionError {
    if (error instanceof DeadlineExceeded) return this.#error('connecting took too long');
    // The library's errors contain the credentials in `options`: pass none on, not even as a cause.
    const said = messageOf(error);
    const known = proxyErrors.find(([pattern]) => pattern.test(said));
    if (known !== undefined) return this.#error(known[1], known[2]);
    return this.#error(connectionErrorText(error));
  }

  #error(words: string, permanent = false): KubeConnectionError {
    return new KubeConnectionError(this.#server, `its proxy ${this.#shown}: ${words}`, undefined, {
      neverSent: true,
      permanent,
      unreachable: !permanent,
    });
  }
}

/** For an unreadable certificate undici throws; passes the error to its callback instead. */
export function upgradeSocket(socket: Socket, callback: buildConnector.Callback, begin: () => void): void {
  try {
    begin();
  } catch (error) {
    socket.destroy();
    callback(error as Error, null);
  }
}

function waitForConnect(socket: Socket): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once('connect', resolve);
    socket.once('error', reject);
    socket.once('close', () => reject(new Error('Socket closed')));
  });
}

function withoutBrackets(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '');
}
