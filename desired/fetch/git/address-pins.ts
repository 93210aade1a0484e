import { isIP } from 'node:net';
import { RepositoryError } from '../../errors.ts';
import { literalAddressOf } from '../network/denied-networks.ts';

/** The broadcast address: connections to it fail at once. */
const nowhere = '255.255.255.255';

/**
 * Returns values for git's `http.curloptResolve`: curl connects to these addresses for the host of
 * the URL and asks no name server. Without addresses, curl reaches the host through a proxy or not
 * at all.
 */
export function curlPins(url: string, addresses: readonly string[]): readonly string[] {
  const { hostname, port, protocol } = new URL(url);
  if (literalAddressOf(hostname) !== undefined) return [];
  const number = port !== '' ? port : protocol === 'https:' ? '443' : '80';
  const list = (addresses.length === 0 ? [nowhere] : addresses).map(bracketed).join(',');
  const name = hostname.replace(/\.$/, '');
  // curl treats a host with a trailing dot as another name; name servers do not.
  return [name, `${name}.`].map((each) => `${each}:${number}:${list}`);
}

/** Host and port of an ssh URL in the spelling of known_hosts. */
export interface SshTarget {
  readonly host: string;
  readonly port: string;
}

/** @throws RepositoryError for a host that ssh could parse as something else */
export function sshTarget(url: string, host: string): SshTarget {
  if (!/^[\w.:[\]-]+$/.test(host))
    throw new RepositoryError('the host of the repository has characters that no host has');
  const port = /^[a-z][a-z0-9+.-]*:\/\//i.test(url) ? new URL(url).port : '';
  return { host: host.toLowerCase().replace(/^\[(.*)\]$/, '$1'), port: port === '' ? '22' : port };
}

/**
 * The arguments of ssh for the server of a URL, in both forms.
 * @throws RepositoryError for a user or host that ssh could parse as something else
 */
export function sshDestination({ url, host }: { readonly url: string; readonly host: string }): readonly string[] {
  const target = sshTarget(url, host);
  const isUrl = /^[a-z][a-z0-9+.-]*:\/\//i.test(url);
  const user = isUrl ? decodeURIComponent(new URL(url).username) : (/^([^@/:]*)@/.exec(url)?.[1] ?? '');
  if (!/^(?:[\w.+][\w.+-]*)?$/.test(user))
    throw new RepositoryError('the user of the repository has characters that no user has');
  return ['-p', target.port, '--', user === '' ? target.host : `${user}@${target.host}`];
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
export function atAddress(url: string, address: string): string {
  const at = new URL(url);
  at.hostname = bracketed(address);
  return at.href;
}

function bracketed(address: string): string {
  return isIP(address) === 6 ? `[${address}]` : address;
}
