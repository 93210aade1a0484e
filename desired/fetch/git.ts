import { mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { outsideText, Secret } from '#base';
import type { Random } from '#base';
import type { Repository } from '#model';
import type { CommandResult, CommandRunner } from '../command/types.ts';
import { defaultLimits } from '../limits.ts';
import { RepositoryError, UnsupportedSource } from '../errors.ts';
import type { CloudTokens } from './cloud-tokens.ts';
import type { GitHubApps } from './github-apps.ts';
import type { Hosts } from './hosts.ts';
import { sshProxy } from './ssh-proxy.ts';
import type { SafeUrl } from './untrusted.ts';

/** Where trust comes from, as Argo CD lays it out (ARGOCD_SSH_DATA_PATH, ARGOCD_TLS_DATA_PATH). */
export interface GitTrust {
  /** File of known ssh hosts. */
  readonly sshKnownHosts: string;
  /** Directory with one CA bundle per host, named after the host. */
  readonly tlsCertificates: string;
}

export const defaultTrust: GitTrust = {
  sshKnownHosts: '/app/config/ssh/ssh_known_hosts',
  tlsCertificates: '/app/config/tls',
};

export interface GitDeps {
  readonly commands: CommandRunner;
  readonly random: Random;
  readonly cacheDir: string;
  readonly trust: GitTrust;
  /** Conversations with one host at a time; without it, there may be any number. */
  readonly hosts?: Hosts;
  /** Tokens of GitHub Apps; without it, repositories that need one are reached without credentials. */
  readonly apps?: GitHubApps;
  /** Tokens of Google and Azure; without it, repositories that need one are refused. */
  readonly tokens?: CloudTokens;
  /** The most that git takes into memory at once. */
  readonly maxAllocationBytes?: number;
}

export interface GitRun {
  /** The bare repository. */
  readonly directory: string;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  readonly maxBytes?: number;
  readonly stdin?: string;
  /** The packs of the repository may have no more than this. */
  readonly maxPackBytes?: number;
  /** The folder of the keys that signatures are verified with (GNUPGHOME); without it, no signature is good. */
  readonly keyring?: string;
  /** Talk to this remote, which git then knows as `source`. */
  readonly remote?: { readonly url: SafeUrl; readonly repository: Repository };
}

/**
 * Runs git with nothing of the machine's or a user's configuration, without prompts, hooks and background work, over an allow-list of
 * protocols. Addresses and credentials travel in the environment (GIT_CONFIG_*) or in files of mode 0600 that are gone afterwards, never
 * in argv, where every process of the machine could read them.
 */
export class Git {
  readonly #deps: GitDeps;

  constructor(deps: GitDeps) {
    this.#deps = deps;
  }

  /** The result, also of a failed run: callers word the failure. */
  async run(args: readonly string[], run: GitRun): Promise<CommandResult> {
    const home = join(this.#deps.cacheDir, 'home');
    await mkdir(home, { recursive: true, mode: 0o700 });
    const remote = run.remote === undefined ? undefined : await this.#access(run.remote, run.signal);
    const { hosts } = this.#deps;
    // git would follow one to wherever it leads, unseen.
    const unseen = hosts?.denied === undefined ? {} : { 'http.followRedirects': 'false' };
    const config = { ...baseConfig, ...unseen, ...remote?.config };
    try {
      const start = (): Promise<CommandResult> =>
        this.#deps.commands.runCommand(['git', `--git-dir=${run.directory}`, ...args], {
          cwd: home,
          env: {
            ...baseEnv(home),
            GIT_ALLOC_LIMIT: String(this.#deps.maxAllocationBytes ?? defaultLimits.maxGitAllocationBytes),
            GNUPGHOME: run.keyring ?? join(home, 'no-keys'),
            ...remote?.env,
            ...configEnv(config),
          },
          timeoutMs: run.timeoutMs,
          maxBytes: run.maxBytes ?? 1024 * 1024,
          ...(run.maxPackBytes === undefined
            ? {}
            : { disk: { folder: join(run.directory, 'objects', 'pack'), maxBytes: run.maxPackBytes } }),
          signal: run.signal,
          ...(run.stdin === undefined ? {} : { stdin: run.stdin }),
        });
      const result = await (hosts?.run(run.remote?.url.host ?? '', run.signal, start) ?? start());
      return { ...result, stderr: outsideText('program', result.stderr, { hidden: remote?.secrets ?? [] }) };
    } finally {
      await Promise.all((remote?.files ?? []).map((file) => rm(file, { force: true })));
    }
  }

  async #access({ url, repository }: NonNullable<GitRun['remote']>, signal: AbortSignal): Promise<Access> {
    const access: Access = { config: { 'remote.source.url': url.url }, env: {}, files: [], secrets: [] };
    if (url.transport === 'http') await this.#http(access, url, await this.withToken(url, repository, signal));
    else if (url.transport === 'ssh') await this.#ssh(access, repository, url);
    return access;
  }

  /** Password and ssh key come before the App, that before Google, that before Azure, as in Argo CD. */
  async withToken(url: SafeUrl, repository: Repository, signal: AbortSignal): Promise<Repository> {
    const { githubApp: app, googleKey, azure, password, bearerToken, sshPrivateKey } = repository;
    const hasOwn = [password, bearerToken, sshPrivateKey].some((one) => one !== undefined);
    if (hasOwn) return repository;
    if (app !== undefined && this.#deps.apps !== undefined) {
      const token = new Secret(await this.#deps.apps.token(app, repository, url, signal));
      return { ...repository, username: 'x-access-token', password: token };
    }
    if (googleKey === undefined && azure === undefined) return repository;
    if (this.#deps.tokens === undefined) throw new UnsupportedSource('a token of Google or Azure');
    return { ...repository, ...(await this.#deps.tokens.credentials(repository, signal)) };
  }

  async #http(access: Access, url: SafeUrl, repository: Repository): Promise<void> {
    const { bearerToken } = repository;
    const password = repository.password?.reveal() ?? url.password;
    const username = nonEmpty(repository.username) ?? url.username ?? 'x-access-token';
    // Bound to the address: a redirect to another host does not get it.
    const header = `http.${new URL(url.url).origin}/.extraHeader`;
    if (nonEmpty(password) !== undefined) {
      const basic = Buffer.from(`${username}:${password ?? ''}`).toString('base64');
      access.config[header] = `Authorization: Basic ${basic}`;
      access.secrets.push(password ?? '', basic);
    } else if (bearerToken !== undefined) {
      access.config[header] = `Authorization: Bearer ${bearerToken.reveal()}`;
      access.secrets.push(bearerToken.reveal());
    }
    await this.#tls(access, url, repository);
    if (nonEmpty(repository.proxy) !== undefined) access.config['http.proxy'] = repository.proxy ?? '';
    if (nonEmpty(repository.noProxy) !== undefined) access.env['no_proxy'] = repository.noProxy ?? '';
  }

  async #tls(access: Access, url: SafeUrl, repository: Repository): Promise<void> {
    const { tlsClientCertData, tlsClientCertKey } = repository;
    if (repository.insecure) access.env['GIT_SSL_NO_VERIFY'] = 'true';
    else {
      const bundle = join(this.#deps.trust.tlsCertificates, url.host);
      if (await exists(bundle)) access.env['GIT_SSL_CAINFO'] = bundle;
    }
    if (tlsClientCertData !== undefined && tlsClientCertKey !== undefined) {
      access.env['GIT_SSL_CERT'] = await this.#secretFile(access, tlsClientCertData);
      access.env['GIT_SSL_KEY'] = await this.#secretFile(access, tlsClientCertKey);
    }
  }

  async #ssh(access: Access, repository: Repository, { host }: SafeUrl): Promise<void> {
    const proxy = sshProxy(nonEmpty(repository.proxy));
    const hosts = repository.insecure ? '/dev/null' : this.#deps.trust.sshKnownHosts;
    const options = [
      'BatchMode=yes',
      'ConnectTimeout=15',
      // A peer that has gone away ends the connection, and with it the lock that a fetch holds (Argo CD #20785).
      'ServerAliveInterval=15',
      'ServerAliveCountMax=3',
      `StrictHostKeyChecking=${repository.insecure ? 'no' : 'yes'}`,
      `UserKnownHostsFile=${hosts}`,
      'GlobalKnownHostsFile=/dev/null',
      `ProxyCommand=${proxy?.command(host) ?? 'none'}`,
      'PermitLocalCommand=no',
    ];
    const words = ['ssh', '-F', '/dev/null', ...options.flatMap((option) => ['-o', option])];
    if (repository.sshPrivateKey !== undefined) {
      const key = await this.#secretFile(access, repository.sshPrivateKey);
      words.push('-o', 'IdentitiesOnly=yes', '-i', key);
    }
    // git hands this to a shell: every word is ours, and quoted all the same.
    access.env['GIT_SSH_COMMAND'] = words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
    access.env['GIT_SSH_VARIANT'] = 'ssh';
    Object.assign(access.env, proxy?.env);
    access.secrets.push(...Object.values(proxy?.env ?? {}));
  }

  async #secretFile(access: Access, secret: Secret): Promise<string> {
    const directory = join(this.#deps.cacheDir, 'keys');
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const file = join(directory, this.#deps.random.uuid());
    access.files.push(file);
    access.secrets.push(secret.reveal().trim());
    await writeFile(file, `${secret.reveal().trimEnd()}\n`, { mode: 0o600, flag: 'wx' });
    return file;
  }
}

interface Access {
  readonly config: Record<string, string>;
  readonly env: Record<string, string>;
  readonly files: string[];
  /** Texts that must not appear in any message. */
  readonly secrets: string[];
}

const baseConfig: Readonly<Record<string, string>> = {
  'gc.auto': '0',
  'maintenance.auto': 'false',
  // What is fetched stays in the pack that it came in: there its size is watched.
  'fetch.unpackLimit': '1',
  // Bigger files are passed on without being taken into memory.
  'core.bigFileThreshold': '64m',
  'core.hooksPath': '/dev/null',
  'core.askPass': '',
  'credential.helper': '',
  'protocol.version': '2',
  'fetch.recurseSubmodules': 'false',
  'http.lowSpeedLimit': '1',
  'http.lowSpeedTime': '30',
  'transfer.credentialsInUrl': 'die',
  // Signatures of other kinds than OpenPGP must not pass by keys of the machine.
  'gpg.program': 'gpg',
  'gpg.x509.program': 'false',
  'gpg.ssh.program': 'false',
};

function baseEnv(home: string): Record<string, string> {
  return {
    HOME: home,
    XDG_CONFIG_HOME: home,
    LC_ALL: 'C',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ALLOW_PROTOCOL: 'http:https:ssh:git:file',
    GIT_PROTOCOL_FROM_USER: '0',
    GIT_LFS_SKIP_SMUDGE: '1',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_OPTIONAL_LOCKS: '0',
  };
}

function configEnv(config: Readonly<Record<string, string>>): Record<string, string> {
  const entries = Object.entries(config);
  const env: Record<string, string> = { GIT_CONFIG_COUNT: String(entries.length) };
  for (const [i, [key, value]] of entries.entries()) {
    env[`GIT_CONFIG_KEY_${i}`] = key;
    env[`GIT_CONFIG_VALUE_${i}`] = value;
  }
  return env;
}

/**
 * What a failed conversation with a remote means, in Argo CD's words where it has them. `doing` begins the message: "failed to list refs".
 * Texts are git's own, which it does not translate (LC_ALL=C); one table, tested, is the only place that reads them.
 */
export function remoteFailure(doing: string, url: string, stderr: string): RepositoryError {
  const shown = outsideText('url', url);
  const fields = { repository: shown };
  for (const [pattern, meaning] of failures)
    if (pattern.test(stderr)) return new RepositoryError(`${doing}: ${meaning(shown)}`, { fields });
  const lines = stderr.split('\n').map((line) => line.trim());
  const cause = lines.find((line) => /^(?:fatal|error|ERROR|ssh):/i.test(line)) ?? lines.find((line) => line !== '');
  return new RepositoryError(`${doing}: ${(cause ?? 'git failed without a message').replace(/^fatal: /, '')}`, {
    fields,
  });
}

const failures: readonly (readonly [RegExp, (url: string) => string])[] = [
  [
    /terminal prompts disabled|Authentication failed|could not read (?:Username|Password)|Permission denied \(|returned error: 40[13]/i,
    (url) => `failed to authenticate to git repository "${url}": no credentials matched this URL, or they were refused`,
  ],
  [
    /does not appear to be a git repository|repository '[^']*' not found|Repository not found|returned error: 404/i,
    () => 'repository not found',
  ],
  [/Host key verification failed/i, (url) => `the ssh host key of "${url}" is not among the known hosts`],
  [/detected dubious ownership/i, (url) => `"${url}" belongs to another user than this process`],
];

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}
