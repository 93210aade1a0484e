import { execPath } from 'node:process';
import { fileURLToPath } from 'node:url';
import { RepositoryError, UnsupportedSource } from '../errors.ts';

/** How ssh goes through a proxy: its ProxyCommand for a host, and the environment that the command reads. */
export interface SshProxy {
  command(host: string): string;
  readonly env: Readonly<Record<string, string>>;
}

/**
 * For the proxy of an ssh repository, which must speak SOCKS 5 as in Argo CD (there by connect-proxy, here by a program of our own, so that the
 * image needs none). User and password travel in the environment, never in arguments.
 * @throws UnsupportedSource, RepositoryError
 */
export function sshProxy(proxy: string | undefined): SshProxy | undefined {
  if (proxy === undefined) return undefined;
  if (!URL.canParse(proxy))
    throw new RepositoryError('the proxy of the repository is no URL: socks5://host:port is one');
  const { protocol, hostname, port, username, password } = new URL(proxy);
  if (!/^socks5h?:$/.test(protocol))
    throw new UnsupportedSource('a proxy for an ssh repository that is not reached by socks5://');
  const program = fileURLToPath(new URL('../ssh-proxy-main.js', import.meta.url));
  return {
    command: (host) => {
      // ssh gives this to a shell, after it has replaced %h and %p.
      if (!/^[\w.:-]+$/.test(host)) throw new RepositoryError('the host of the repository has signs that no host has');
      const words = [execPath, program, hostname.replace(/^\[|\]$/g, ''), port === '' ? '1080' : port];
      return `exec ${words.map((word) => `'${word.replaceAll("'", "'\\''").replaceAll('%', '%%')}'`).join(' ')} %h %p`;
    },
    env:
      username === '' ? {} : { SOCKS5_USER: decodeURIComponent(username), SOCKS5_PASSWD: decodeURIComponent(password) },
  };
}
