import { omit } from '#base';
import type { RefusedAddress } from './host.ts';

export type AddressScheme = 'http' | 'https' | 'ssh' | 'git' | 'file' | 'oci';

export interface AddressParts {
  readonly scheme: AddressScheme;
  readonly username?: string;
  readonly password?: string;
  /** Lower case; "" for a file. */
  readonly host: string;
  /** "" for the scheme's own port. */
  readonly port: string;
  /** Without needless escapes. */
  readonly segments: readonly string[];
  /** With its question mark; "" without one. */
  readonly query: string;
  /** `user@host:path` (from the home directory), a plain path, or a registry without `oci://`. */
  readonly isShort: boolean;
}

/** How the source is reached. `ssh` includes `git://`. */
export type Transport = 'http' | 'ssh' | 'local' | 'registry';

const transports: Readonly<Record<AddressScheme, Transport>> = {
  http: 'http',
  https: 'http',
  ssh: 'ssh',
  git: 'ssh',
  file: 'local',
  oci: 'registry',
};

/**
 * The address of a source, parsed once from text. Every decision (project, signatures, credentials,
 * caches, networks) takes this value, and the URL that is dialled is made from it, never from the
 * text. Only the readers of `model/address` make one.
 */
export class SourceAddress {
  readonly scheme: AddressScheme;
  readonly transport: Transport;
  /** The URL to dial, without user and password if it is an HTTP URL. */
  readonly url: string;
  /** All of the address, in its one spelling. */
  readonly text: string;
  readonly host: string;
  readonly port: string;
  readonly segments: readonly string[];
  readonly query: string;
  readonly isShort: boolean;
  readonly username?: string;
  readonly password?: string;
  // Keeps other objects with these members out: only this module can make an address.
  readonly #parts: AddressParts;

  private constructor(parts: AddressParts, url: string, text: string) {
    this.#parts = parts;
    this.scheme = parts.scheme;
    this.transport = transports[parts.scheme];
    this.host = parts.host;
    this.port = parts.port;
    this.segments = parts.segments;
    this.query = parts.query;
    this.isShort = parts.isShort;
    if (parts.username !== undefined) this.username = parts.username;
    if (parts.password !== undefined) this.password = parts.password;
    this.url = url;
    this.text = text;
  }

  /** For the readers of this folder only. */
  static of(parts: AddressParts): SourceAddress | RefusedAddress {
    const user = userInfo(parts);
    const url = dialled(parts, transports[parts.scheme] === 'ssh' ? user : '');
    if (transports[parts.scheme] === 'http' && !isReadAlike(url))
      return { refused: 'programs read it in different ways' };
    return new SourceAddress(parts, url, dialled(parts, user));
  }

  /**
   * For an address in the answer of a server: a redirect, an entry of an index, a token service.
   * Only our web client reads it. User and password are dropped.
   */
  static ofAnswer(answer: URL): SourceAddress | RefusedAddress {
    if (answer.protocol !== 'http:' && answer.protocol !== 'https:')
      return { refused: `the scheme ${answer.protocol}// is not allowed` };
    const url = new URL(answer);
    url.username = '';
    url.password = '';
    url.hash = '';
    const parts: AddressParts = {
      scheme: url.protocol === 'https:' ? 'https' : 'http',
      host: url.hostname,
      port: url.port,
      segments: url.pathname.slice(1).split('/'),
      query: url.search,
      isShort: false,
    };
    return new SourceAddress(parts, url.href, url.href);
  }

  /** Scheme, host and port. */
  get origin(): string {
    return `${this.scheme}://${this.authority}`;
  }

  /** Host and port. */
  get authority(): string {
    return this.port === '' ? this.host : `${this.host}:${this.port}`;
  }

  get hasLogin(): boolean {
    return this.#parts.username !== undefined || this.#parts.password !== undefined;
  }

  /** The same address without query, user and password; a user of ssh is part of the address. */
  get bare(): SourceAddress {
    if (this.transport !== 'http') return this;
    const bare = { ...omit(this.#parts, 'username', 'password'), query: '' };
    return new SourceAddress(bare, dialled(bare, ''), dialled(bare, ''));
  }

  /** This address with the user and password of another. */
  withLoginOf({ username, password }: SourceAddress): SourceAddress {
    const parts: AddressParts = {
      ...this.#parts,
      ...(username === undefined ? {} : { username }),
      ...(password === undefined ? {} : { password }),
    };
    return new SourceAddress(parts, this.url, dialled(parts, userInfo(parts)));
  }

  /**
   * Whether every server reads the path alike. False only for the answer of a server: no project
   * permits such an address, and no credentials are lent to it.
   */
  get isPlain(): boolean {
    return this.transport === 'local' || this.segments.every((segment) => !/%(?:2e|2f|5c|25)/i.test(segment));
  }

  /** Whether this is the other address, or lies below it. */
  isWithin(other: SourceAddress): boolean {
    const isBelow = other.segments.every((segment, i) => this.segments[i] === segment);
    return isBelow && this.isPlain && this.origin === other.origin;
  }
}

/** git, curl and Go agree with the reader of URLs in this process about what it does not change. */
function isReadAlike(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { href, pathname } = new URL(url);
  return href === url || (pathname === '/' && href.replace(/\/(?=\?|$)/, '') === url);
}

function userInfo({ username = '', password = '' }: AddressParts): string {
  const user = encodeURIComponent(username);
  const info = password === '' ? user : `${user}:${encodeURIComponent(password)}`;
  return info === '' ? '' : `${info}@`;
}

function dialled(parts: AddressParts, user: string): string {
  const { scheme, host, port, segments, query, isShort } = parts;
  const path = segments.join('/');
  if (scheme === 'file') return `/${decodeURIComponent(path)}`;
  const authority = port === '' ? host : `${host}:${port}`;
  if (scheme === 'ssh' && isShort) return `${user}${host}:${path}`;
  if (scheme === 'oci' && isShort) return `${authority}/${path}`;
  return `${scheme}://${user}${authority}${path + query === '' ? '' : `/${path}`}${query}`;
}
