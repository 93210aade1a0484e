import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { RandomSource, SecretValue } from '#base';
import type { Repository } from '#model';
import { RepositoryError } from '../../errors.ts';
import { AskPass } from './ask-pass.ts';
import { LentFiles } from './lent-files.ts';

export interface GitCredentialsDeps {
  readonly random: RandomSource;
  /** The folder of the plugins' sockets, which sidecars mount at the same path. */
  readonly sockets: string;
  /** The socket where plugins request passwords. Default: beside their own sockets. */
  readonly askPass?: string | undefined;
  /** The known_hosts file of ssh. */
  readonly sshKnownHosts: string;
}

type Environment = Readonly<Record<string, string>>;

/** Variables and files for one call of a plugin. */
interface Lending {
  readonly env: (directory: string) => Environment;
  readonly files: Readonly<Record<string, string>>;
}

/**
 * Lends the credentials of a repository to a plugin that sets `provideGitCreds`, with the variables
 * of Argo CD (util/git/creds.go). Passwords are exchanged for a nonce; ssh keys, known hosts and
 * client certificates are files that exist during the call only.
 */
export class GitCredentials {
  readonly #deps: GitCredentialsDeps;
  readonly #askPass: AskPass;
  readonly #files: LentFiles;

  constructor(deps: GitCredentialsDeps) {
    this.#deps = deps;
    const { sockets, askPass = join(sockets, '.ask-pass.sock'), random } = deps;
    this.#askPass = new AskPass(askPass, random);
    this.#files = new LentFiles({ folder: join(sockets, '.lent'), random });
  }

  /** Removes the files that a killed process left. */
  clear(): Promise<void> {
    return this.#files.clear();
  }

  /**
   * Runs the body with the variables for git.
   * @param socket the name of the plugin's socket
   * @throws RepositoryError, DesiredError
   */
  async lend<T>(repository: Repository, socket: string, body: (env: Environment) => Promise<T>): Promise<T> {
    const { env, files } = await this.#lendingOf(repository);
    const withFiles = (inner: (env: Environment) => Promise<T>): Promise<T> =>
      Object.keys(files).length === 0
        ? inner(env(''))
        : stat(join(this.#deps.sockets, socket)).then((reader) =>
            this.#files.lend(files, reader, (directory) => inner(env(directory))),
          );
    return withFiles((variables) => {
      const { username = 'x-access-token', password } = repository;
      if (password === undefined) return body(variables);
      const login = { username, password: password.reveal() };
      return this.#askPass.lend(login, (lent) => body({ ...variables, ...lent }));
    });
  }

  async #lendingOf(repository: Repository): Promise<Lending> {
    const { password, bearerToken, sshPrivateKey } = repository;
    if (password !== undefined) return tlsLending(repository, {});
    if (bearerToken !== undefined)
      return tlsLending(repository, bearerEnvironment(repository.url, bearerToken.reveal()));
    if (sshPrivateKey === undefined) return tlsLending(repository, {});
    const knownHosts = await readFile(this.#deps.sshKnownHosts, 'utf8').catch(() => '');
    return sshLending(repository, sshPrivateKey, knownHosts);
  }
}

/** The texts of a repository's credentials that no error may contain. */
export function lentSecrets({
  password,
  bearerToken,
  sshPrivateKey,
  tlsClientCertKey,
  proxy = '',
}: Repository): readonly string[] {
  const keys = [sshPrivateKey, tlsClientCertKey].flatMap((key) => key?.reveal().trim().split('\n') ?? []);
  const lines = keys.filter((line) => line.length >= 16 && !line.startsWith('-----'));
  const ofProxy = URL.canParse(proxy) ? [decodeURIComponent(new URL(proxy).password)] : [];
  const texts = [password, bearerToken].map((secret) => secret?.reveal() ?? '');
  return [...texts, ...ofProxy, ...lines].filter((text) => text !== '');
}

function sshLending(repository: Repository, key: SecretValue, knownHosts: string): Lending {
  const { insecure } = repository;
  const proxy = proxyOf(repository.proxy ?? '');
  const words = (directory: string): readonly string[] => [
    ...['ssh', '-i', join(directory, 'key')],
    ...['-o', `StrictHostKeyChecking=${insecure ? 'no' : 'yes'}`],
    ...['-o', `UserKnownHostsFile=${insecure ? '/dev/null' : join(directory, 'known_hosts')}`],
    ...proxy.options,
  ];
  return {
    env: (directory) => ({ GIT_SSH_COMMAND: words(directory).map(quoted).join(' '), ...proxy.env }),
    files: { key: `${key.reveal().trimEnd()}\n`, ...(insecure ? {} : { known_hosts: knownHosts }) },
  };
}

/** As in Argo CD: the image of the plugin must have the program connect-proxy. */
function proxyOf(proxy: string): { readonly options: readonly string[]; readonly env: Environment } {
  if (proxy === '') return { options: [], env: {} };
  const url = URL.canParse(proxy) ? new URL(proxy) : undefined;
  // ssh passes the command to a shell, so no other character may be in the address.
  if (url === undefined || !/^[\w.:[\]-]+$/.test(url.host))
    throw new RepositoryError('the proxy of the repository is no URL: socks5://host:port is one');
  const { hostname, port, username, password } = url;
  return {
    options: ['-o', `ProxyCommand=connect-proxy -S ${hostname}:${port === '' ? '1080' : port} -5 %h %p`],
    env: {
      ...(username === '' ? {} : { SOCKS5_USER: decodeURIComponent(username) }),
      ...(password === '' ? {} : { SOCKS5_PASSWD: decodeURIComponent(password) }),
    },
  };
}

/** A client certificate, and whether the server's is verified; for repositories over https. */
function tlsLending(repository: Repository, env: Environment): Lending {
  const { url, insecure, tlsClientCertData, tlsClientCertKey } = repository;
  const verify: Environment = insecure && /^https:/i.test(url) ? { GIT_SSL_NO_VERIFY: 'true' } : {};
  if (tlsClientCertData === undefined || tlsClientCertKey === undefined)
    return { env: () => ({ ...env, ...verify }), files: {} };
  return {
    env: (directory) => ({
      ...env,
      ...verify,
      GIT_SSL_CERT: join(directory, 'tls.crt'),
      GIT_SSL_KEY: join(directory, 'tls.key'),
    }),
    files: { 'tls.crt': tlsClientCertData.reveal(), 'tls.key': tlsClientCertKey.reveal() },
  };
}

/** For the shell that git starts: the folder of the sockets may have any name. */
function quoted(word: string): string {
  return /^[\w./=:@-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/**
 * Lends a bearer token: Argo CD's variable, and configuration with which git sends it to the origin
 * of the repository only.
 */
function bearerEnvironment(repository: string, token: string): Environment {
  const header = `Authorization: Bearer ${token}`;
  const lent = { ARGOCD_GIT_BEARER_AUTH_HEADER: header, GIT_TERMINAL_PROMPT: '0' };
  if (!/^https?:\/\//i.test(repository) || !URL.canParse(repository)) return lent;
  const key = `http.${new URL(repository).origin}/.extraHeader`;
  return { ...lent, GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: key, GIT_CONFIG_VALUE_0: header };
}
