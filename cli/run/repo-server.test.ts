import { describe, expect, it } from '@jest/globals';
import { UsageError } from '#base';
import { readArgs } from '../options/args.ts';
import { runOptions } from '../options/run-options.ts';
import { rendersHere, repoServerSettings } from './repo-server.ts';

type ProcessEnv = Readonly<Record<string, string>>;
const settings = (argv: readonly string[], env: ProcessEnv = {}): ReturnType<typeof repoServerSettings> =>
  repoServerSettings(readArgs(runOptions, argv, env).config);

const mounted = {
  certificate: '/app/config/reposerver/mtls/client.crt',
  key: '/app/config/reposerver/mtls/client.key',
};
const prefix = 'ARGOCD_APPLICATION_CONTROLLER_REPO_SERVER';

describe('repoServerSettings', () => {
  it('none unless one is named: manifests are rendered in this process', () => {
    expect(settings([])).toBeUndefined();
    expect(settings(['--repo-server-strict-tls'])).toBeUndefined();
  });

  it('is the same for plugins only, which needs an address', () => {
    const only = '--repo-server-plugins-only';
    expect(settings(['--repo-server', 'r:8081', only])?.address).toBe('r:8081');
    expect(() => settings([only])).toThrow(UsageError);
    expect(() => settings([only, '--repo-server='], { [prefix]: 'r:8081' })).toThrow(/needs --repo-server/);
  });

  it('an empty flag wins over the environment', () => {
    expect(settings([], { [prefix]: 'r:8081' })?.address).toBe('r:8081');
    expect(settings(['--repo-server='], { [prefix]: 'r:8081' })).toBeUndefined();
  });

  it("by default as Argo CD: TLS that trusts anybody, a minute, 100 MiB, the mounted client's certificate", () => {
    expect(settings(['--repo-server', 'r:8081'])).toEqual({
      address: 'r:8081',
      tls: { identity: mounted },
      timeoutMs: 60_000,
      maxMessageBytes: 104_857_600,
      serviceConfigFromDns: false,
    });
  });

  it.each([
    ['--repo-server-plaintext', { tls: undefined }],
    ['--repo-server-timeout-seconds=0', { timeoutMs: 0 }],
    ['--repo-server-timeout-seconds=7', { timeoutMs: 7000 }],
    [
      '--repo-server-strict-tls',
      { tls: { authorities: ['/app/config/controller/tls/tls.crt', '/app/config/controller/tls/ca.crt'] } },
    ],
    ['--repo-server-ca-cert-path=/ca', { tls: { authorities: ['/ca'] } }],
    ['--repo-server-client-cert-path=/c', { tls: { identity: { ...mounted, certificate: '/c' } } }],
    ['--repo-server-client-cert-key-path=/k', { tls: { identity: { ...mounted, key: '/k' } } }],
    ['--grpc-enable-txt-service-config', { serviceConfigFromDns: true }],
    ['--grpc-max-size-mb=1', { maxMessageBytes: 1_048_576 }],
  ])('%s has effect', (flag, expected) => {
    const found = settings(['--repo-server', 'r:8081', flag]);
    expect({ tls: undefined, ...found }).toMatchObject(expected);
    expect(readArgs(runOptions, ['--repo-server', 'r:8081', flag], {}).warnings).toEqual([]);
  });

  it('so have the variables', () => {
    const env = {
      [prefix]: 'r:8081',
      [`${prefix}_TIMEOUT_SECONDS`]: '5',
      [`${prefix}_STRICT_TLS`]: 'true',
      [`${prefix}_CLIENT_CERT_PATH`]: '/c',
      [`${prefix}_CLIENT_CERT_KEY_PATH`]: '/k',
      ARGOCD_APP_CONF_PATH: '/conf',
      ARGOCD_GRPC_MAX_SIZE_MB: '2',
      GRPC_ENABLE_TXT_SERVICE_CONFIG: 'true',
    };
    expect(settings([], env)).toEqual({
      address: 'r:8081',
      tls: {
        authorities: ['/conf/controller/tls/tls.crt', '/conf/controller/tls/ca.crt'],
        identity: { certificate: '/c', key: '/k' },
      },
      timeoutMs: 5000,
      maxMessageBytes: 2_097_152,
      serviceConfigFromDns: true,
    });
    expect(settings([], { ...env, [`${prefix}_CA_CERT_PATH`]: '/ca' })?.tls?.authorities).toEqual(['/ca']);
    expect(settings([], { ...env, [`${prefix}_PLAINTEXT`]: 'true' })?.tls).toBeUndefined();
  });

  it('a certificate without a key, or a key without a certificate, is refused', () => {
    expect(() => settings(['--repo-server-client-cert-path='])).toThrow(UsageError);
    expect(() => settings(['--repo-server-client-cert-key-path='])).toThrow('--repo-server-client-cert-key-path');
    expect(
      settings(['--repo-server=r:1', '--repo-server-client-cert-path=', '--repo-server-client-cert-key-path='])?.tls,
    ).toEqual({});
  });
});

it.each([
  ['without a repo-server', [], true],
  ['with a repo-server for everything', ['--repo-server=r:8081'], false],
  ['with a repo-server for plugins', ['--repo-server=r:8081', '--repo-server-plugins-only'], true],
  [
    'with a repo-server and the hydrator, whose templates are rendered here',
    ['--repo-server=r:8081', '--hydrator-enabled'],
    true,
  ],
])('a replica %s has a renderer: %j: %s', (_what, argv, expected) => {
  expect(rendersHere(readArgs(runOptions, argv, {}).config)).toBe(expected);
});
