import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { seededRandom } from '#base';
import { bareRepository } from '#model';
import type { CommandRunner } from '../command/types.ts';
import { startWebServer } from '../testing/index.ts';
import { DeniedNetworks, faultyNetworks } from './denied-networks.ts';
import { Git } from './git.ts';
import { Hosts } from './hosts.ts';
import { checkUrl } from './untrusted.ts';
import { Web } from './web.ts';

const names: Readonly<Record<string, readonly string[]>> = {
  'inside.example': ['169.254.169.254'],
  'both.example': ['203.0.113.7', '169.254.169.254'],
  'outside.example': ['203.0.113.7', '2001:db8::7'],
};
const find = (host: string): Promise<readonly string[]> =>
  names[host] === undefined ? Promise.reject(new Error('ENOTFOUND')) : Promise.resolve(names[host]);
const never = new AbortController().signal;

describe('T-SEC-33: hosts that are reached by ssh', () => {
  it.each([
    ['git@git.example:a/b.git', false, 'yes', '/trust/ssh_known_hosts'],
    ['ssh://git@git.example:2222/a/b.git', false, 'yes', '/trust/ssh_known_hosts'],
    // What administrators write into the Secret of a repository.
    ['git@git.example:a/b.git', true, 'no', '/dev/null'],
  ])('T-SEC-33: %s (insecure: %s) must be among the known ones: %s', async (url, insecure, strict, file) => {
    const cacheDir = mkdtempSync(join(tmpdir(), 'driftless-ssh-'));
    const envs: Readonly<Record<string, string>>[] = [];
    const runCommand: CommandRunner['runCommand'] = (_argv, { env = {} }) => {
      envs.push(env);
      return Promise.resolve({ exitCode: 0, stdout: new Uint8Array(), stderr: '' });
    };
    const trust = { sshKnownHosts: '/trust/ssh_known_hosts', tlsCertificates: '/trust' };
    const git = new Git({ commands: { runCommand }, random: seededRandom(1), cacheDir, trust });
    try {
      const remote = { url: checkUrl(url, cacheDir), repository: { ...bareRepository(url), insecure } };
      await git.run(['ls-remote', 'source'], { directory: cacheDir, signal: never, timeoutMs: 1000, remote });
    } finally {
      rmSync(cacheDir, { recursive: true });
    }
    const ssh = envs[0]?.['GIT_SSH_COMMAND'] ?? '';
    expect(ssh).toContain(
      `'StrictHostKeyChecking=${strict}' '-o' 'UserKnownHostsFile=${file}' '-o' 'GlobalKnownHostsFile=/dev/null'`,
    );
    expect(ssh).toMatch(/^'ssh' '-F' '\/dev\/null' /);
  });
});

describe('T-SEC-33: networks that sources are kept out of', () => {
  it.each([
    ['169.254.169.254', false],
    ['[::ffff:169.254.169.254]', false],
    ['[::ffff:a9fe:a9fe]', false],
    ['[fe80::1]', false],
    ['[fd00:ec2::254]', false],
    ['10.1.2.3', false],
    ['inside.example', false],
    ['both.example', false],
    ['outside.example', true],
    ['203.0.113.7', true],
    ['[2001:db8::7]', true],
    ['no-such.example', true],
  ])('T-SEC-33: %s is spoken with: %s', async (host, permitted) => {
    const hosts = new Hosts(8, new DeniedNetworks(['metadata', '10.0.0.0/8'], find));
    let spoken = 0;
    const asked = hosts.run(host, never, () => Promise.resolve((spoken += 1)));
    if (permitted) await asked;
    else await expect(asked).rejects.toThrow(/lies in a network that --denied-networks keeps sources out of$/);
    expect(spoken).toBe(permitted ? 1 : 0);
  });

  it('T-SEC-33: a redirect into one is not followed, and a source that names one in other digits is refused', async () => {
    const [inside, outside] = [await startWebServer(), await startWebServer()];
    inside.pages.set('/', { body: 'credentials of the machine' });
    outside.pages.set('/', { status: 302, headers: { location: inside.url.replace('127.0.0.1', '127.0.0.2') } });
    try {
      const hosts = new Hosts(8, new DeniedNetworks(['127.0.0.2']));
      const web = new Web({ tlsCertificates: '/none', proxies: {}, hosts });
      const ask = (url: string): Promise<unknown> => {
        const access = { repository: bareRepository(url), at: checkUrl(url, '/cache') };
        return web.get({ url, maxBytes: 1000, signal: never }, access);
      };
      await expect(ask(outside.url)).rejects.toThrow(/^127\.0\.0\.2 lies in a network/);
      for (const host of ['2130706434', '0x7f000002', '127.2', '[::ffff:127.0.0.2]'])
        await expect(ask(inside.url.replace('127.0.0.1', host))).rejects.toThrow(/lies in a network/);
      expect(inside.asked).toEqual([]);
    } finally {
      await Promise.all([inside.close(), outside.close()]);
    }
  });

  it('14.2: T-SEC-33: a name server that answers otherwise a moment later leads nowhere', async () => {
    const inside = await startWebServer();
    inside.pages.set('/', { body: 'hello' });
    const answers = [['127.0.0.1'], ['127.0.0.1'], ['127.0.0.1'], ['127.0.0.2']];
    const hosts = new Hosts(8, new DeniedNetworks(['127.0.0.2'], () => Promise.resolve(answers.shift() ?? [])));
    const web = new Web({ tlsCertificates: '/none', proxies: {}, hosts });
    const url = inside.url.replace('127.0.0.1', 'flips.example');
    const ask = (): Promise<{ readonly body: Buffer }> => {
      const access = { repository: bareRepository(url), at: checkUrl(url, '/cache') };
      return web.get({ url, maxBytes: 1000, signal: never }, access);
    };
    try {
      // It is spoken with at the address that was looked at: nobody else knows this name.
      expect((await ask()).body.toString()).toBe('hello');
      await expect(ask()).rejects.toThrow(/^flips\.example \(127\.0\.0\.2\) lies in a network/);
      await expect(ask()).rejects.toThrow('no address of flips.example');
      expect(inside.asked).toHaveLength(1);
    } finally {
      await inside.close();
    }
  });

  it('T-SEC-33: are told when they are none', () => {
    expect(faultyNetworks(['metadata', '10.0.0.0/8', '::1', '2001:db8::/32', '10.0.0.1'])).toEqual([]);
    const faulty = ['10.0.0.0/33', 'metadata/8', 'example.com', '10.0.0.0/', '10.0.0.0/8/8', '', '10.0.0/8', '::/129'];
    expect(faultyNetworks(faulty)).toEqual(faulty);
  });
});
