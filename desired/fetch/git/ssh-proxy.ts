import { execPath } from 'node:process';
import { fileURLToPath } from 'node:url';
import { RepositoryError, UnsupportedSource } from '../../errors.ts';

/** ProxyCommand of ssh for a host, and the environment that the command reads. */
export interface SshProxy {
  command(host: string): string;
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Creates the ProxyCommand for an ssh repository's proxy, which must speak SOCKS 5 as in Argo CD. A
 * program of our own replaces Argo CD's connect-proxy, so the image needs none. User and password
 * travel in the environment, never in arguments.
 * @throws UnsupportedSource, RepositoryError
 */
export function sshProxy(proxy: string | undefined): SshProxy | undefined {
  if (proxy === undefined) return undefined;
  if (!URL.canParse(proxy))
    throw new RepositoryError('the proxy of the repository is no URL: socks5://host:port is one');
  const { protocol, hostname, port, username, password } = new URL(proxy);
  if (!/^socks5h?:$/.test(protocol)) throw new UnsupportedSource('an ssh repository with a proxy other than socks5://');
  const program = fileURLToPath(new URL('../../ssh-proxy-main.js', import.meta.url));
  return {
    command: (host) => {
      // ssh passes this to a shell after replacing %h and %p.
      if (!/^[\w.:-]+$/.test(host))
        throw new RepositoryError('the host of the repository has characters that no host has');
      const words = [execPath, program, hostname.replace(/^\[|\]$/g, ''), port === '' ? '1080' : port];
      return `exec ${words.map((word) => `'${word.replaceAll("'", "'\\''").replaceAll('%', '%%')}'`).join(' ')} %h %p`;
    },
    env:
      username === '' ? {} : { SOCKS5_USER: decodeURIComponent(username), SOCKS5_PASSWD: decodeURIComponent(password) },
  };
}
