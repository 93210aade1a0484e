import { existsSync } from 'node:fs';
import { rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { abortable, outsideText, SecretValue } from '#base';
import type { RandomSource } from '#base';
import type { Repository, SourceAddress } from '#model';
import type { Logger } from '#telemetry';
import type { CommandResult, CommandRunner } from '../../command/types.ts';
import { defaultLimits } from '../../limits.ts';
import { UnsupportedSource } from '../../errors.ts';
import type { CloudTokens } from '../credentials/cloud-tokens.ts';
import type { GitHubApps } from '../credentials/github-apps.ts';
import { portOf } from '../network/host-gate.ts';
import type { HostGate } from '../network/host-gate.ts';
import { atAddress, curlPins, sshDestination, sshPins, sshTarget, withPort } from './address-pins.ts';
import type { SshTarget } from './address-pins.ts';
import { isRequestType } from './git-metrics.ts';
import type { MeasureGit } from './git-metrics.ts';
import { isRedirect } from './git-redirects.ts';
import type { GitRedirects, GitRemote } from './git-redirects.ts';
import { namelessUser, passwdLine, userDatabaseEnv } from './nameless-user.ts';
import { sshProxy } from './ssh-proxy.ts';
import { makeFolder } from '../shared/disk-failure.ts';

/**
 * Location of known hosts and certificates, as in Argo CD (ARGOCD_SSH_DATA_PATH,
 * ARGOCD_TLS_DATA_PATH).
 */
export interface GitTrust {
  /** The ssh known_hosts file. */
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
  readonly random: RandomSource;
  readonly cacheDir: string;
  readonly trust: GitTrust;
  /** Limits connections per host and denies addresses; without it, neither applies. */
  readonly hosts?: HostGate;
  /** Follows redirects for git. Without it, a redirect is an error if addresses are denied. */
  readonly redirects?: GitRedirects;
  readonly logger?: Logger;
  /** Tokens of GitHub Apps; without it, such repositories are accessed anonymously. */
  readonly apps?: GitHubApps;
  /** Tokens of Google and Azure; without it, such repositories are refused. */
  readonly tokens?: CloudTokens;
  /** Measures requests to Git servers. */
  readonly measure?: MeasureGit;
  /** Limit for a single memory allocation of git. */
  readonly maxAllocationBytes?: number;
  /** Time between SIGTERM and SIGKILL for a git that timed out. */
  readonly killDelayMs?: number;
}

export interface GitRun {
  /** The bare repository. */
  readonly directory: string;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  readonly maxBytes?: number;
  readonly stdin?: string;
  /** Limit for the size of all packs in the repository. */
  readonly maxPackBytes?: number;
  /** GNUPGHOME with the keys for signature verification; without it, no signature is good. */
  readonly keyring?: string;
  /** The index, instead of one in the repository. */
  readonly indexFile?: string;
  /** Connect to this remote; git knows it as `source`. */
  readonly remote?: GitRemote;
  /** Runs this command on the ssh server of `remote`, instead of git. */
  readonly sshCommand?: string;
}

/** How to run git in a mirror. */
export interface MirrorCommand extends Partial<Omit<GitRun, 'directory' | 'signal' | 'remote' | 'sshCommand'>> {
  /** Connect to the remote. */
  readonly remote?: true;
}

/**
 * Runs git isolated from the configuration of the machine and of users, without prompts, hooks or
 * background work, and with an allow-list of protocols. URLs and credentials travel in the
 * environment (GIT_CONFIG_*) or in temporary files of mode 0600, never in argv, which every process
 * of the machine can read.
 */
export class Git {
  readonly #deps: GitDeps;
  #canPin: Promise<boolean> | undefined;

  constructor(deps: GitDeps) {
    this.#deps = deps;
  }

  /**
   * Returns the result even if git failed; callers create the error.
   * @throws RepositoryError for a denied host
   */
  run(args: readonly string[], run: GitRun): Promise<CommandResult> {
    const { measure } = this.#deps;
    const [command] = args;
    if (measure === undefined || run.remote === undefined || !isRequestType(command)) return this.#run(args, run);
    return measure(run.remote.url.url, command, this.#run(args, run));
  }

  /**
   * Runs one command on the server of an ssh URL.
   * @throws RepositoryError for a denied host
   */
  runOnServer(sshCommand: string, remote: GitRemote, run: Omit<GitRun, 'directory'>): Promise<CommandResult> {
    return this.#run([], { ...run, directory: this.#home, remote, sshCommand });
  }

  async #run(args: readonly string[], run: GitRun): Promise<CommandResult> {
    if (!existsSync(this.#home)) await makeFolder(this.#home);
    if (run.remote === undefined) return this.#start(args, run, noAccess());
    await this.#checkProxy(run.remote, run.signal);
    const remote = await this.#withLogin(run.remote, run.signal);
    const { redirects } = this.#deps;
    if (redirects === undefined || remote.url.transport !== 'http') return this.#runAtHost(args, run, remote);
    if (!redirects.isKnown(remote)) {
      const result = await this.#runAtHost(args, run, remote);
      if (!isRedirect(result.exitCode, result.stderr)) return result;
    }
    return this.#runAtHost(args, run, await redirects.follow(remote, run.signal));
  }

  async #checkProxy({ url, repository }: GitRemote, signal: AbortSignal): Promise<void> {
    const proxy = nonEmpty(repository.proxy);
    const denied = this.#deps.hosts?.denied;
    if (proxy === undefined || denied === undefined || url.transport === 'local') return;
    await abortable(denied.checkProxy(proxy), signal);
  }

  get #home(): string {
    return join(this.#deps.cacheDir, 'home');
  }

  /** Get the token before taking a slot of the host: the token server may be the same host. */
  async #withLogin(remote: GitRemote, signal: AbortSignal): Promise<GitRemote> {
    if (remote.url.transport !== 'http') return remote;
    return { url: remote.url, repository: await this.withToken(remote.url, remote.repository, signal) };
  }

  #runAtHost(args: readonly string[], run: GitRun, remote: GitRemote): Promise<CommandResult> {
    const start = (addresses?: readonly string[]): Promise<CommandResult> =>
      this.#runAtAddresses(args, run, remote, addresses);
    const server = { host: remote.url.host, port: portOf(remote.url.url) };
    return this.#deps.hosts?.run(server, run.signal, start) ?? start();
  }

  /**
   * ssh and git:// can be pinned to only one address. If it is unreachable, the next one is tried,
   * as ssh and git would do themselves.
   */
  async #runAtAddresses(
    args: readonly string[],
    run: GitRun,
    remote: GitRemote,
    addresses: readonly string[] | undefined,
  ): Promise<CommandResult> {
    const isProxied = nonEmpty(remote.repository.proxy) !== undefined;
    const isSsh = remote.url.transport === 'ssh';
    if (!isSsh || addresses === undefined || isProxied) {
      const pinned = isSsh ? undefined : addresses;
      const result = await this.#start(args, run, await this.#access(remote, pinned, run.signal));
      return addresses?.length === 0 && !isProxied ? withoutAddress(result, remote.url.host) : result;
    }
    let result = unknownHost(remote.url.host);
    for (const address of addresses.slice(0, maxAddresses)) {
      result = await this.#start(args, run, await this.#access(remote, [address], run.signal));
      if (result.exitCode === 0 || !/^ssh: connect to host|unable to connect to/m.test(result.stderr)) break;
    }
    return result;
  }

  async #start(args: readonly string[], run: GitRun, access: GitAccess): Promise<CommandResult> {
    // git would follow redirects to any address without a check.
    const unseen = this.#deps.hosts?.denied === undefined ? {} : { 'http.followRedirects': 'false' };
    const config = [...Object.entries({ ...baseConfig, ...unseen, ...access.config }), ...access.pins];
    try {
      const result = await this.#deps.commands.runCommand(programOf(args, run, access), {
        cwd: this.#home,
        env: {
          ...baseEnv(this.#home),
          GIT_ALLOC_LIMIT: String(this.#deps.maxAllocationBytes ?? defaultLimits.maxGitAllocationBytes),
          GNUPGHOME: run.keyring ?? join(this.#home, 'no-keys'),
          ...(run.indexFile === undefined ? {} : { GIT_INDEX_FILE: run.indexFile }),
          ...access.env,
          ...configEnv(config),
        },
        timeoutMs: run.timeoutMs,
        ...(this.#deps.killDelayMs === undefined ? {} : { killDelayMs: this.#deps.killDelayMs }),
        maxBytes: run.maxBytes ?? 1024 * 1024,
        ...(run.maxPackBytes === undefined
          ? {}
          : { disk: { folder: join(run.directory, 'objects', 'pack'), maxBytes: run.maxPackBytes } }),
        signal: run.signal,
        ...(run.stdin === undefined ? {} : { stdin: run.stdin }),
      });
      return { ...result, stderr: outsideText('program', result.stderr, { hidden: access.secrets }) };
    } finally {
      await Promise.all(access.files.map((file) => rm(file, { force: true })));
    }
  }

  /** @param addresses addresses to pin; undefined: the name is resolved by git or by a proxy */
  async #access(remote: GitRemote, addresses: readonly string[] | undefined, signal: AbortSignal): Promise<GitAccess> {
    const access = noAccess();
    try {
      await this.#fillAccess(access, remote, addresses, signal);
      return access;
    } catch (error) {
      // A disk that is full in between must not keep a private key.
      await Promise.all(access.files.map((file) => rm(file, { force: true }).catch(() => undefined)));
      throw error;
    }
  }

  async #fillAccess(
    access: GitAccess,
    { url, repository }: GitRemote,
    addresses: readonly string[] | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    access.config['remote.source.url'] = url.url;
    if (url.transport === 'http') {
      await this.#http(access, url, repository);
      if (addresses !== undefined && (await this.#canPinAddresses(signal)))
        access.pins.push(...curlPins(url, addresses).map((pin) => [curlPinKey, pin] as const));
    } else if (url.scheme === 'git') {
      const [address] = addresses ?? [];
      if (address !== undefined) access.config['remote.source.url'] = atAddress(url, address);
    } else if (url.transport === 'ssh') await this.#ssh(access, repository, { url, address: addresses?.[0], signal });
  }

  /** git 2.37 and newer can pin addresses. */
  #canPinAddresses(signal: AbortSignal): Promise<boolean> {
    this.#canPin ??= this.#gitCanPin(signal).catch((error: unknown) => {
      this.#canPin = undefined;
      throw error;
    });
    return this.#canPin;
  }

  async #gitCanPin(signal: AbortSignal): Promise<boolean> {
    const options = { cwd: this.#home, env: baseEnv(this.#home), timeoutMs: 15_000, maxBytes: 4096, signal };
    const { stdout } = await this.#deps.commands.runCommand(['git', '--version'], options);
    const text = Buffer.from(stdout).toString('utf8').trim();
    const [, major = '0', minor = '0'] = /(\d+)\.(\d+)/.exec(text) ?? [];
    if (Number(major) > 2 || (Number(major) === 2 && Number(minor) >= 37)) return true;
    this.#deps.logger?.warn(
      'git is older than 2.37 and resolves hosts itself, so a changed DNS answer may lead it to a denied address: update git',
      { git: outsideText('program', text) },
    );
    return false;
  }

  /** Precedence as in Argo CD: password or ssh key, GitHub App, Google, Azure. */
  async withToken(url: SourceAddress, repository: Repository, signal: AbortSignal): Promise<Repository> {
    const { githubApp: app, googleKey, azure, password, bearerToken, sshPrivateKey } = repository;
    const hasOwn = [password, bearerToken, sshPrivateKey].some((one) => one !== undefined);
    if (hasOwn) return repository;
    if (app !== undefined && this.#deps.apps !== undefined) {
      const token = new SecretValue(await this.#deps.apps.token(app, repository, url, signal));
      return { ...repository, username: 'x-access-token', password: token };
    }
    if (googleKey === undefined && azure === undefined) return repository;
    if (this.#deps.tokens === undefined) throw new UnsupportedSource('a token of Google or Azure');
    return { ...repository, ...(await this.#deps.tokens.credentials(repository, signal)) };
  }

  async #http(access: GitAccess, url: SourceAddress, repository: Repository): Promise<void> {
    const { bearerToken } = repository;
    const password = repository.password?.reveal() ?? url.password;
    const username = nonEmpty(repository.username) ?? url.username ?? 'x-access-token';
    // Bound to the origin: a redirect to another host does not get it.
    const header = `http.${url.origin}/.extraHeader`;
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

  async #tls(access: GitAccess, url: SourceAddress, repository: Repository): Promise<void> {
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

  async #ssh(
    access: GitAccess,
    repository: Repository,
    {
      url,
      address,
      signal,
    }: { readonly url: SourceAddress; readonly address: string | undefined; readonly signal: AbortSignal },
  ): Promise<void> {
    const proxy = sshProxy(nonEmpty(repository.proxy));
    const hosts = repository.insecure ? '/dev/null' : this.#deps.trust.sshKnownHosts;
    const options = [
      'BatchMode=yes',
      'ConnectTimeout=15',
      // Detect a dead peer; otherwise the fetch would hold its lock for ever (Argo CD #20785).
      'ServerAliveInterval=15',
      'ServerAliveCountMax=3',
      `StrictHostKeyChecking=${repository.insecure ? 'no' : 'yes'}`,
      `UserKnownHostsFile=${hosts}`,
      'GlobalKnownHostsFile=/dev/null',
      `ProxyCommand=${proxy?.command(url.host) ?? 'none'}`,
      'PermitLocalCommand=no',
    ];
    if (address !== undefined) {
      const alias = await this.#hostKeyAlias(sshTarget(url), hosts, signal);
      options.push(...sshPins(address, alias));
    }
    const words = ['ssh', '-F', '/dev/null', ...options.flatMap((option) => ['-o', option])];
    if (repository.sshPrivateKey !== undefined) {
      const key = await this.#secretFile(access, repository.sshPrivateKey);
      words.push('-o', 'IdentitiesOnly=yes', '-i', key);
    }
    // git passes this to a shell; every word is ours and is quoted anyway.
    access.env['GIT_SSH_COMMAND'] = words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
    access.env['GIT_SSH_VARIANT'] = 'ssh';
    access.ssh.push(...words);
    await this.#nameUser(access);
    Object.assign(access.env, proxy?.env);
    access.secrets.push(...Object.values(proxy?.env ?? {}));
  }

  /**
   * Returns the name under which ssh looks up the host key: the host and a non-standard port, or
   * the host alone.
   */
  async #hostKeyAlias(target: SshTarget, knownHosts: string, signal: AbortSignal): Promise<string> {
    const name = withPort(target);
    if (target.port === '22' || knownHosts === '/dev/null') return name;
    const argv = ['ssh-keygen', '-F', name, '-f', knownHosts];
    const options = { cwd: this.#home, env: baseEnv(this.#home), timeoutMs: 15_000, maxBytes: 1024 * 1024, signal };
    const { exitCode, stdout } = await this.#deps.commands.runCommand(argv, options);
    // A host certificate names the host without a port.
    const byAuthority = Buffer.from(stdout).includes('@cert-authority');
    return exitCode === 1 || byAuthority ? target.host : name;
  }

  #secretFile(access: GitAccess, secret: SecretValue): Promise<string> {
    access.secrets.push(secret.reveal().trim());
    return this.#privateFile(access, `${secret.reveal().trimEnd()}\n`);
  }

  async #privateFile(access: GitAccess, text: string): Promise<string> {
    const directory = join(this.#deps.cacheDir, 'keys');
    await makeFolder(directory);
    const file = join(directory, this.#deps.random.uuid());
    access.files.push(file);
    await writeFile(file, text, { mode: 0o600, flag: 'wx' });
    return file;
  }

  /** Names the user for ssh where the UID has no name, as on OpenShift. */
  async #nameUser(access: GitAccess): Promise<void> {
    const user = namelessUser();
    if (user === undefined) return;
    const file = await this.#privateFile(access, passwdLine(user, this.#deps.cacheDir));
    Object.assign(access.env, userDatabaseEnv(user, file));
  }
}

const maxAddresses = 3;
const curlPinKey = 'http.curloptResolve';

interface GitAccess {
  readonly config: Record<string, string>;
  /** Configuration keys with several values. */
  readonly pins: (readonly [string, string])[];
  readonly env: Record<string, string>;
  /** ssh with its options. */
  readonly ssh: string[];
  readonly files: string[];
  /** Texts that must not appear in any message. */
  readonly secrets: string[];
}

function programOf(args: readonly string[], run: GitRun, { ssh }: GitAccess): readonly string[] {
  const { directory, remote, sshCommand } = run;
  if (remote === undefined || sshCommand === undefined) return ['git', `--git-dir=${directory}`, ...args];
  return [...ssh, ...sshDestination(remote.url), sshCommand];
}

function noAccess(): GitAccess {
  return { config: {}, pins: [], env: {}, ssh: [], files: [], secrets: [] };
}

/** The failure that curl reports for an unknown host, for hosts that we resolve ourselves. */
function unknownHost(host: string): CommandResult {
  return { exitCode: 128, stdout: new Uint8Array(), stderr: `fatal: Could not resolve host: ${host}` };
}

/**
 * For a host without addresses: replaces the failure to connect to the unreachable pin. A proxy of
 * this process may still have reached the host.
 */
function withoutAddress(result: CommandResult, host: string): CommandResult {
  const isLost = result.exitCode !== 0 && result.stderr.includes(`Failed to connect to ${host} port`);
  return isLost ? unknownHost(host) : result;
}

const baseConfig: Readonly<Record<string, string>> = {
  'gc.auto': '0',
  'maintenance.auto': 'false',
  // Keep fetched objects in their pack, where the size is watched.
  'fetch.unpackLimit': '1',
  // Stream larger files instead of loading them into memory.
  'core.bigFileThreshold': '64m',
  'core.hooksPath': '/dev/null',
  'core.askPass': '',
  'credential.helper': '',
  'protocol.version': '2',
  'fetch.recurseSubmodules': 'false',
  // A server must not name other download locations.
  'fetch.uriProtocols': '',
  'transfer.bundleURI': 'false',
  'http.lowSpeedLimit': '1',
  'http.lowSpeedTime': '30',
  'transfer.credentialsInUrl': 'die',
  // Signatures other than OpenPGP must not be verified with keys of the machine.
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

function configEnv(entries: readonly (readonly [string, string])[]): Record<string, string> {
  const env: Record<string, string> = { GIT_CONFIG_COUNT: String(entries.length) };
  for (const [i, [key, value]] of entries.entries()) {
    env[`GIT_CONFIG_KEY_${i}`] = key;
    env[`GIT_CONFIG_VALUE_${i}`] = value;
  }
  return env;
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}
