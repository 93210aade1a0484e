import { execFileSync } from 'node:child_process';
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { SecretValue, seededRandom } from '#base';
import { bareRepository } from '#model';
import type { Repository } from '#model';
import { failureOf } from '../../testing/repository.ts';
import { GitCredentials, lentSecrets } from './git-credentials.ts';

const ssh = 'ssh://git@git.example.com/team/a.git';
/** Only root can give files to another user. */
const isRoot = process.getuid?.() === 0;
function itAsRoot(title: string, body: () => Promise<void>): void {
  if (isRoot) it(title, body);
  else it.skip(`${title} (left out: needs root)`, body);
}

let sockets = '';
let credentials: GitCredentials;

function open(): GitCredentials {
  return new GitCredentials({ random: seededRandom(1), sockets, sshKnownHosts: join(sockets, 'known') });
}

beforeEach(() => {
  sockets = mkdtempSync(join(tmpdir(), 'cmp-'));
  writeFileSync(join(sockets, 'cmp.sock'), '');
  writeFileSync(join(sockets, 'known'), 'git.example.com ssh-ed25519 AAAA\n');
  credentials = open();
});
afterEach(() => rmSync(sockets, { recursive: true, force: true }));

const withKey = (more: Partial<Repository> = {}, url = ssh): Repository => ({
  ...bareRepository(url),
  sshPrivateKey: new SecretValue('-----BEGIN KEY-----\nsecret-line-of-a-key\n-----END KEY-----'),
  ...more,
});
const lend = <T>(repository: Repository, body: (env: Readonly<Record<string, string>>) => T): Promise<T> =>
  credentials.lend(repository, 'cmp.sock', (env) => Promise.resolve(body(env)));

/** The words that the shell of git makes of a command. */
function wordsOf(command: string | undefined): string[] {
  return execFileSync('sh', ['-c', `printf '%s\\n' ${command ?? ''}`], { encoding: 'utf8' })
    .trimEnd()
    .split('\n');
}

describe('ssh keys that are lent to a plugin', () => {
  it('are files of mode 0600 that exist during the call only, with the known hosts', async () => {
    const seen = await lend(withKey(), (env) => {
      const words = wordsOf(env['GIT_SSH_COMMAND']);
      const key = words[2] ?? '';
      expect(words).toEqual([
        ...['ssh', '-i', key, '-o', 'StrictHostKeyChecking=yes'],
        ...['-o', `UserKnownHostsFile=${join(dirname(key), 'known_hosts')}`],
      ]);
      expect(readFileSync(key, 'utf8')).toBe('-----BEGIN KEY-----\nsecret-line-of-a-key\n-----END KEY-----\n');
      expect(readFileSync(join(dirname(key), 'known_hosts'), 'utf8')).toContain('git.example.com');
      expect([key, dirname(key), dirname(dirname(key))].map((path) => statSync(path).mode & 0o777)).toEqual([
        0o600, 0o700, 0o711,
      ]);
      expect(JSON.stringify(env)).not.toContain('secret-line');
      return key;
    });
    expect(existsSync(dirname(seen))).toBe(false);
    const { message } = await failureOf(
      credentials.lend(withKey(), 'cmp.sock', () => Promise.reject(new Error('the plugin fails'))),
    );
    expect(message).toBe('the plugin fails');
    expect(readdirSync(join(sockets, '.lent'))).toEqual([]);
  });

  it('are removed at the next start after a crash, except those of calls in flight', async () => {
    const left = join(sockets, '.lent', 'of-a-killed-process');
    await lend(withKey(), async (env) => {
      mkdirSync(left);
      writeFileSync(join(left, 'key'), 'k');
      await credentials.clear();
      expect(existsSync(left)).toBe(false);
      expect(existsSync(wordsOf(env['GIT_SSH_COMMAND'])[2] ?? '')).toBe(true);
    });
  });

  it('turns host key checking off for an insecure repository, and names its SOCKS proxy as Argo CD does', async () => {
    const repository = withKey({ insecure: true, proxy: 'socks5://me:p%40ss@proxy.example.com:1081' });
    await lend(repository, (env) => {
      expect(wordsOf(env['GIT_SSH_COMMAND']).slice(3)).toEqual([
        ...['-o', 'StrictHostKeyChecking=no', '-o', 'UserKnownHostsFile=/dev/null'],
        ...['-o', 'ProxyCommand=connect-proxy -S proxy.example.com:1081 -5 %h %p'],
      ]);
      expect(env).toMatchObject({ SOCKS5_USER: 'me', SOCKS5_PASSWD: 'p@ss' });
    });
    expect(lentSecrets(repository)).toEqual(['p@ss', 'secret-line-of-a-key']);
  });

  it.each(['socks5://h;touch x:1', 'socks5://$(id):1', 'no url'])('refuses the proxy %j', async (proxy) => {
    const { message } = await failureOf(lend(withKey({ proxy }), () => undefined));
    expect(message).toContain('the proxy of the repository is no URL');
  });

  it('are not written through a link', async () => {
    const elsewhere = mkdtempSync(join(tmpdir(), 'elsewhere-'));
    symlinkSync(elsewhere, join(sockets, '.lent'));
    expect((await failureOf(lend(withKey(), () => undefined))).message).toContain('must belong to this process');
    expect(readdirSync(elsewhere)).toEqual([]);
    rmSync(elsewhere, { recursive: true });
  });

  itAsRoot('are not written into a folder of another user', async () => {
    mkdirSync(join(sockets, '.lent'));
    chownSync(join(sockets, '.lent'), 998, 998);
    expect((await failureOf(lend(withKey(), () => undefined))).message).toContain('must belong to this process');
  });

  itAsRoot('can be read by a sidecar of another user by its group, and listed by none', async () => {
    chownSync(join(sockets, 'cmp.sock'), 998, 997);
    await lend(withKey(), (env) => {
      const key = wordsOf(env['GIT_SSH_COMMAND'])[2] ?? '';
      const found = [key, dirname(key), dirname(dirname(key))].map((path) => statSync(path));
      expect(found.map(({ mode }) => mode & 0o777)).toEqual([0o640, 0o710, 0o711]);
      expect(found.slice(0, 2).map(({ gid }) => gid)).toEqual([997, 997]);
    });
  });
});

describe('other credentials that are lent to a plugin', () => {
  const certificate = { tlsClientCertData: new SecretValue('cert'), tlsClientCertKey: new SecretValue('key') };

  it('are a client certificate and whether the certificate of the server counts', async () => {
    const url = 'https://git.example.com/a.git';
    const repository = { ...bareRepository(url), ...certificate, insecure: true, bearerToken: new SecretValue('t') };
    await lend(repository, (env) => {
      expect(env).toMatchObject({ GIT_SSL_NO_VERIFY: 'true', GIT_CONFIG_VALUE_0: 'Authorization: Bearer t' });
      expect(readFileSync(env['GIT_SSL_CERT'] ?? '', 'utf8')).toBe('cert');
      expect(readFileSync(env['GIT_SSL_KEY'] ?? '', 'utf8')).toBe('key');
    });
  });

  it('come before an ssh key, as in Argo CD, and none are lent for an anonymous repository', async () => {
    await lend(withKey({ password: new SecretValue('p') }), (env) => {
      expect(env).toMatchObject({ GIT_ASKPASS: 'argocd' });
      expect(env).not.toHaveProperty('GIT_SSH_COMMAND');
    });
    await lend(bareRepository(ssh), (env) => expect(env).toEqual({}));
  });
});
