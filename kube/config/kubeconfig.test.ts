import { writeFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { KubeConfig } from '@kubernetes/client-node';
import fc from 'fast-check';
import type { JsonObject } from '#base';
import { mergeKubeconfigs, parseKubeconfig } from './kubeconfig.ts';

const folder = mkdtempSync(join(tmpdir(), 'kubeconfig-'));
afterAll(() => rmSync(folder, { recursive: true }));

const user = (fields: object): JsonObject => ({ users: [{ name: 'u', user: { ...fields } }] });

describe('parseKubeconfig', () => {
  it.each<[string, string, string]>([
    ['aws', 'aws', 'on PATH'],
    ['./bin/login', '/config/bin/login', 'relative to the file'],
    ['bin/login', '/config/bin/login', 'relative to the file'],
    ['/bin/login', '/bin/login', 'absolute'],
  ])('finds the exec plugin %s as %s (%s)', (command, expected) => {
    const [found] = parseKubeconfig(user({ exec: { command, args: ['a/b'] } }), '/config').users;
    expect(found?.exec).toEqual({ command: expected, args: ['a/b'] });
  });

  it('resolves the paths of files from the folder of the kubeconfig', () => {
    const paths = { 'client-certificate': 'c.crt', 'client-key': '/k.key', tokenFile: '../token' };
    expect(parseKubeconfig(user(paths), '/a/b').users).toEqual([
      {
        name: 'u',
        certFile: '/a/b/c.crt',
        keyFile: '/k.key',
        tokenFile: '/a/token',
        acting: { user: '', groups: [], extra: {} },
      },
    ]);
  });

  it('keeps entries without content, as `kubectl config set-context` writes them', () => {
    const root = { contexts: [{ name: 'a', context: { cluster: '', user: '', namespace: 'n' } }, { name: 'b' }] };
    expect(parseKubeconfig(root, '/').contexts).toEqual([
      { name: 'a', cluster: '', user: '', namespace: 'n' },
      { name: 'b', cluster: '', user: '' },
    ]);
  });

  it.each<[JsonObject, string]>([
    [{ users: {} }, 'users is not a list'],
    [{ users: ['u'] }, 'users[0].name is missing'],
    [{ users: [{ name: '' }] }, 'users[0].name is missing'],
    [{ users: [{ name: 'u', user: 'x' }] }, 'users[0].user is not an object'],
    [user({ token: 12345 }), 'users[0].user.token is not a string'],
    [{ 'current-context': 1 }, 'the kubeconfig.current-context is not a string'],
    [
      { clusters: [{ name: 'c', cluster: { 'insecure-skip-tls-verify': 'true' } }] },
      'clusters[0].cluster.insecure-skip-tls-verify is not true or false',
    ],
  ])('refuses %j without its value', (root, message) => {
    expect(() => parseKubeconfig(root, '/')).toThrow(new Error(message));
  });
});

describe('mergeKubeconfigs', () => {
  it('prefers the first entry with a name and the first current context', () => {
    const file = (current: string, server: string): JsonObject => ({
      'current-context': current,
      clusters: [{ name: 'c', cluster: { server } }],
      contexts: [{ name: server }],
    });
    const merged = mergeKubeconfigs(
      [file('', 'a'), file('x', 'b'), file('y', 'c')].map((f) => parseKubeconfig(f, '/')),
    );
    expect(merged.currentContext).toBe('x');
    expect(merged.clusters.map(({ server }) => server)).toEqual(['a']);
    expect(merged.contexts.map(({ name }) => name)).toEqual(['a', 'b', 'c']);
  });
});

describe('the library of the Kubernetes project', () => {
  const name = fc.stringMatching(/^[a-z]{1,6}$/);
  const path = fc.constantFrom('x.pem', './d/x.pem', '/abs/x.pem');
  const cluster = fc.record(
    {
      server: fc.constantFrom('https://a:6443', 'http://b'),
      'insecure-skip-tls-verify': fc.boolean(),
      'certificate-authority': path,
      'certificate-authority-data': name,
      'tls-server-name': name,
      'proxy-url': fc.constant('socks5://p:1080'),
    },
    { requiredKeys: ['server'] },
  );
  const credentials = fc.record(
    {
      token: name,
      username: name,
      password: name,
      as: name,
      'client-certificate': path,
      'client-key': path,
      'client-certificate-data': name,
      'client-key-data': name,
    },
    { requiredKeys: [] },
  );
  const context = fc.record({ cluster: name, user: name, namespace: name }, { requiredKeys: ['cluster'] });
  const named = <T>(key: string, body: fc.Arbitrary<T>): fc.Arbitrary<{ name: string }[]> =>
    fc.array(
      fc.record({ name, body }).map(({ name: one, body: fields }) => ({ name: one, [key]: fields })),
      { maxLength: 4 },
    );

  it('finds the same in every kubeconfig', () => {
    const file = join(folder, 'config');
    const config = fc.record({
      'current-context': name,
      clusters: named('cluster', cluster),
      users: named('user', credentials),
      contexts: named('context', context),
    });
    fc.assert(
      fc.property(config, (root) => {
        writeFileSync(file, JSON.stringify(root));
        const library = new KubeConfig();
        library.loadFromFile(file);
        expect(asLibrary(parseKubeconfig(root as unknown as JsonObject, folder))).toEqual(withoutEmpty(library));
      }),
    );
  });
});

/** Our result in the words of the library. */
function asLibrary({ currentContext, clusters, users, contexts }: ReturnType<typeof parseKubeconfig>): object {
  return withoutEmpty({
    currentContext,
    clusters: clusters.map(({ insecure, ...rest }) => ({ ...rest, skipTLSVerify: insecure })),
    users: users.map(({ acting, ...rest }) => ({ ...rest, impersonateUser: acting.user || undefined })),
    contexts: contexts.map((one) => ({ ...one, user: one.user || undefined })),
  });
}

function withoutEmpty(config: Readonly<Record<keyof ReturnType<typeof parseKubeconfig>, unknown>>): object {
  const { currentContext, clusters, users, contexts } = config;
  return JSON.parse(
    JSON.stringify({ currentContext, clusters, users, contexts }, (_key, value: unknown) => value ?? undefined),
  ) as object;
}
