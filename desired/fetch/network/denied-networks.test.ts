import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { seededRandom, Shutdown, systemClock } from '#base';
import { bareRepository } from '#model';
import type { CommandRunner } from '../../command/types.ts';
import { startWebServer } from '../../testing/index.ts';
import { DeniedNetworks, invalidNetworks } from './denied-networks.ts';
import { Git } from '../git/git.ts';
import { HostGate } from './host-gate.ts';
import { checkUrl, checkWebUrl } from '../shared/input-checks.ts';
import { WebClient } from './web-client.ts';

const names: Readonly<Record<string, readonly string[]>> = {
  'inside.example': ['169.254.169.254'],
  'both.example': ['203.0.113.7', '169.254.169.254'],
  'outside.example': ['203.0.113.7', '2001:db8::7'],
};
const find = (host: string): Promise<readonly string[]> =>
  names[host] === undefined ? Promise.reject(new Error('ENOTFOUND')) : Promise.resolve(names[host]);
const never = new AbortController().signal;

// T-SEC-33
describe('ssh hosts', () => {
  it.each([
    ['git@git.example:a/b.git', false, 'yes', '/trust/ssh_known_hosts'],
    ['ssh://git@git.example:2222/a/b.git', false, 'yes', '/trust/ssh_known_hosts'],
    // Administrators set this in the Secret of a repository.
    ['git@git.example:a/b.git', true, 'no', '/dev/null'],
    // T-SEC-33
  ])('%s (insecure: %s) must be a known host: %s', async (url, insecure, strict, file) => {
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

// T-SEC-33
describe('denied networks', () => {
  it.each([
    ['169.254.169.254', false],
    ['[::ffff:169.254.169.254]', false],
    ['[::ffff:a9fe:a9fe]', false],
    ['[fe80::1]', false],
    ['[fd00:ec2::254]', false],
    ['[::ffff:0:169.254.169.254]', false],
    ['[64:ff9b:1::169.254.169.254]', false],
    ['10.1.2.3', false],
    ['inside.example', false],
    ['both.example', false],
    ['outside.example', true],
    ['203.0.113.7', true],
    ['[2001:db8::7]', true],
    ['no-such.example', true],
    // T-SEC-33
  ])('%s is contacted: %s', async (host, permitted) => {
    const hosts = new HostGate(
      8,
      new DeniedNetworks(['metadata', '10.0.0.0/8'], { find }, { deniedNetworks: 'theOption' }),
    );
    let spoken = 0;
    const asked = hosts.run({ host: host, port: '443' }, never, () => Promise.resolve((spoken += 1)));
    if (permitted) await asked;
    else
      await expect(asked).rejects.toThrow(
        /(?:is a link-local or metadata address|lies in a network that theOption keeps sources out of): sources may not reach it$/,
      );
    expect(spoken).toBe(permitted ? 1 : 0);
  });

  // T-SEC-33
  it('are not reached by a redirect or by an address in another notation', async () => {
    const [inside, outside] = [await startWebServer(), await startWebServer()];
    inside.pages.set('/', { body: 'credentials of the machine' });
    outside.pages.set('/', { status: 302, headers: { location: inside.url.replace('127.0.0.1', '127.0.0.2') } });
    try {
      const hosts = new HostGate(8, new DeniedNetworks(['127.0.0.2'], { allowLocal: true }));
      const web = new WebClient({ clock: systemClock, tlsCertificates: '/none', proxies: {}, hosts });
      const ask = async (url: string): Promise<unknown> => {
        const access = { repository: bareRepository(url), at: checkUrl(url, '/cache') };
        return web.get({ url: checkWebUrl(url), maxBytes: 1000, signal: never }, access);
      };
      await expect(ask(outside.url)).rejects.toThrow(/^127\.0\.0\.2 lies in a network/);
      await expect(ask(inside.url.replace('127.0.0.1', '[::ffff:127.0.0.2]'))).rejects.toThrow(/lies in a network/);
      for (const host of ['2130706434', '0x7f000002', '127.2'])
        expect(() => checkWebUrl(inside.url.replace('127.0.0.1', host))).toThrow(/is an IP address in an unusual/);
      expect(inside.asked).toEqual([]);
    } finally {
      await Promise.all([inside.close(), outside.close()]);
    }
  });

  // T-SEC-33
  it('are not reached when a DNS answer changes after the check', async () => {
    const inside = await startWebServer();
    inside.pages.set('/', { body: 'hello' });
    const answers = [['127.0.0.1'], ['127.0.0.1'], ['127.0.0.1'], ['127.0.0.2']];
    const hosts = new HostGate(
      8,
      new DeniedNetworks(['127.0.0.2'], { allowLocal: true, find: () => Promise.resolve(answers.shift() ?? []) }),
    );
    const web = new WebClient({ clock: systemClock, tlsCertificates: '/none', proxies: {}, hosts });
    const url = inside.url.replace('127.0.0.1', 'flips.example');
    const ask = (): Promise<{ readonly body: Buffer }> => {
      const access = { repository: bareRepository(url), at: checkUrl(url, '/cache') };
      return web.get({ url: checkWebUrl(url), maxBytes: 1000, signal: never }, access);
    };
    try {
      // The connection used the checked address: no other resolver knows this name.
      expect((await ask()).body.toString()).toBe('hello');
      await expect(ask()).rejects.toThrow(/^flips\.example \(127\.0\.0\.2\) lies in a network/);
      await expect(ask()).rejects.toThrow('no address of flips.example');
      expect(inside.asked).toHaveLength(1);
    } finally {
      await inside.close();
    }
  });

  describe('addresses of the controller itself', () => {
    const reach = {
      hubHosts: ['api.hub.example', '10.96.0.1', '[2001:db8::6]'],
      interfaceAddresses: () => ['127.0.0.1', '203.0.113.9', 'fe80::1%eth0', '2001:db8::9'],
      find: (host: string) =>
        host === 'api.hub.example' || host === 'alias.example' ? Promise.resolve(['198.51.100.6']) : find(host),
    };
    const [own, hub] = ['is an address of the controller itself', "is the hub's API server"];

    it.each([
      ['203.0.113.9', own],
      ['[::ffff:203.0.113.9]', own],
      ['[2001:db8::9]', own],
      ['3405803785', own],
      ['10.96.0.1', hub],
      ['[2001:db8::6]', hub],
      ['api.hub.example', hub],
      ['alias.example', hub],
      // T-SEC-33
    ])('%s %s and is permitted by the flag for labs only', async (host, what) => {
      await expect(new DeniedNetworks([], reach, { localSources: 'theOption' }).addresses(host)).rejects.toThrow(
        `${what} (theOption permits it, for labs): sources may not reach it`,
      );
      expect(await new DeniedNetworks([], { ...reach, allowLocal: true }).addresses(host)).toHaveLength(1);
    });

    it.each([
      ...['127.0.0.1', '127.9.9.9', '0.0.0.0', '2130706433', '0x7f.1', 'localhost', 'a.localhost'],
      ...['[::1]', '[::]', '[::ffff:127.0.0.1]', '[64:ff9b::127.0.0.1]'],
      // T-SEC-33
    ])('include loopback: %s, whatever addresses the machine reports', async (host) => {
      await expect(new DeniedNetworks([], { find }).addresses(host)).rejects.toThrow(
        'is a loopback address: sources may not reach it',
      );
      expect(await new DeniedNetworks([], { find, allowLocal: true }).addresses(host)).not.toHaveLength(0);
    });

    // T-SEC-33
    it("do not include other hosts, even while the hub's name does not resolve", async () => {
      const denied = new DeniedNetworks([], { ...reach, hubHosts: ['gone.example'] });
      expect(await denied.addresses('outside.example')).toEqual(['203.0.113.7', '2001:db8::7']);
    });

    // T-SEC-33
    it('include link-local and metadata addresses despite the flag for labs', async () => {
      const lab = new DeniedNetworks([], { ...reach, allowLocal: true });
      for (const host of [
        '169.254.169.254',
        '[fe80::1]',
        'inside.example',
        '[64:ff9b::a9fe:a9fe]',
        '[2002:a9fe:a9fe::]',
      ])
        await expect(lab.addresses(host)).rejects.toThrow('is a link-local or metadata address');
      expect(await lab.addresses('localhost')).toEqual(['127.0.0.1', '::1']);
    });
  });

  // T-SEC-33
  it('share one DNS lookup between concurrent connections, and look up again later', async () => {
    const asked: string[] = [];
    const denied = new DeniedNetworks([], {
      find: (host) => {
        asked.push(host);
        return find(host);
      },
    });
    const both = [denied.addresses('outside.example'), denied.addresses('outside.example')];
    expect(await Promise.all(both)).toEqual([names['outside.example'], names['outside.example']]);
    await denied.addresses('outside.example');
    expect(asked).toEqual(['outside.example', 'outside.example']);
  });

  // T-SEC-33
  it('do not hold a connection beyond its signal when DNS does not answer', async () => {
    const hosts = new HostGate(8, new DeniedNetworks([], { find: () => new Promise(() => undefined) }));
    const stop = new AbortController();
    const asked = hosts.run({ host: 'slow.example', port: '443' }, stop.signal, () => Promise.resolve('spoken'));
    stop.abort(new Shutdown('enough'));
    await expect(asked).rejects.toThrow('enough');
  });

  it.each([
    '169.254.169.254:80',
    'me:pw@169.254.169.254',
    'socks5://2852039166:1080',
    'socks5h://[fe80::1]',
    'socks5://me:pw@0xa9fea9fe',
    'http://inside.example:3128/',
    'inside.example',
  ])('refuse %s as the proxy of a repository', async (proxy) => {
    const denied = new DeniedNetworks([], { allowLocal: true, find });
    await expect(denied.checkProxy(proxy)).rejects.toThrow('is a link-local or metadata address');
  });

  it.each([
    'http://good.example\\@169.254.169.254',
    'http:/169.254.169.254',
    'http://good.example#@169.254.169.254',
    'http://good.example?@169.254.169.254',
    'socks5://%31%36%39.254.169.254',
    'http:// 169.254.169.254',
    'http://',
  ])('refuse the ambiguous proxy %j', async (proxy) => {
    await expect(new DeniedNetworks([], { find }).checkProxy(proxy)).rejects.toThrow('is no URL');
  });

  it.each(['http://127.0.0.1:3128', 'proxy.example:8080', 'http://a:b@outside.example', 'socks5://10.1.2.3'])(
    'permit %s as a proxy, which administrators configured',
    async (proxy) => {
      await new DeniedNetworks(['10.0.0.0/8'], { find }).checkProxy(proxy);
    },
  );

  // T-SEC-33
  it('reject entries that are not networks', () => {
    expect(invalidNetworks(['metadata', '10.0.0.0/8', '::1', '2001:db8::/32', '10.0.0.1'])).toEqual([]);
    const faulty = ['10.0.0.0/33', 'metadata/8', 'example.com', '10.0.0.0/', '10.0.0.0/8/8', '', '10.0.0/8', '::/129'];
    expect(invalidNetworks(faulty)).toEqual(faulty);
  });
});
