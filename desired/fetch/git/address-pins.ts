import { isIP } from 'node:net';
import type { SourceAddress } from '#model';
import { literalAddressOf } from '../network/denied-networks.ts';

/** The broadcast address: connections to it fail at once. */
const nowhere = '255.255.255.255';

/**
 * Returns values for git's `http.curloptResolve`: curl connects to these addresses for the host of
 * the URL and asks no name server. Without addresses, curl reaches the host through a proxy or not
 * at all.
 */
export function curlPins({ host, port, scheme }: SourceAddress, addresses: readonly string[]): readonly string[] {
  if (literalAddressOf(host) !== undefined) return [];
  const number = port !== '' ? port : scheme === 'https' ? '443' : '80';
  const list = (addresses.length === 0 ? [nowhere] : addresses).map(bracketed).join(',');
  const name = host.replace(/\.$/, '');
  // curl treats a host with a trailing dot as another name; name servers do not.
  return [name, `${name}.`].map((each) => `${each}:${number}:${list}`);
}

/** Host and port of an ssh URL in the spelling of known_hosts. */
export interface SshTarget {
  readonly host: string;
  readonly port: string;
}

export function sshTarget({ host, port }: SourceAddress): SshTarget {
  return { host: host.replace(/^\[(.*)\]$/, '$1'), port: port === '' ? '22' : port };
}

/** The arguments of ssh for the server of an address. */
export function sshDestination(address: SourceAddress): readonly string[] {
  const { host, port } = sshTarget(address);
  return ['-p', port, '--', address.username === undefined ? host : `${address.username}@${host}`];
}

/** Returns the known_hosts name of a host with a non-standard port. */
export function withPort({ host, port }: SshTarget): string {
  return port === '22' ? host : `[${host}]:${port}`;
}

/** ssh options that connect to an address but check the host key under the host's own name. */
export function sshPins(address: string, hostKeyAlias: string): readonly string[] {
  return [`HostName=${address}`, `HostKeyAlias=${hostKeyAlias}`, 'CheckHostIP=no'];
}

/** Replaces the host of a `git://` URL by an address; git has no option to pin it. */
export function atAddress({ authority, host, url }: SourceAddress, address: string): string {
  return url.replace(`//${authority}`, () => `//${bracketed(address)}${authority.slice(host.length)}`);
}

function bracketed(address: string): string {
  return isIP(address) === 6 ? `[${address}]` : address;
}
