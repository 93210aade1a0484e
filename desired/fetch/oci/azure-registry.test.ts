import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { SecretValue, systemClock } from '#base';
import { bareRepository } from '#model';
import type { Repository } from '#model';
import { FakeClock } from '#support';
import { defaultLimits } from '../../limits.ts';
import { selfSigned } from '../../testing/identity.ts';
import { failureOf } from '../../testing/repository.ts';
import { startWebServer } from '../../testing/web-server.ts';
import type { ServedPage, WebServer } from '../../testing/web-server.ts';
import { azureWorkloadOf, CloudTokens } from '../credentials/cloud-tokens.ts';
import type { AzureWorkload } from '../credentials/cloud-tokens.ts';
import { DeniedNetworks } from '../network/denied-networks.ts';
import { HostGate } from '../network/host-gate.ts';
import { WebClient } from '../network/web-client.ts';
import { OciClient, ociRepositoryOf } from './oci-client.ts';

const signal = new AbortController().signal;
const content = Buffer.from('layer');
const digest = `sha256:${createHash('sha256').update(content).digest('hex')}`;
const blobPath = `/v2/app/blobs/${digest}`;
const tokenPath = '/oauth2/token?service=reg&scope=repository%3Aapp%3Apull';
const basic = (password: string): string =>
  `Basic ${Buffer.from(`00000000-0000-0000-0000-000000000000:${password}`).toString('base64')}`;

let folder: string;
let identity: NonNullable<ReturnType<typeof selfSigned>>;
let [registry, stranger, entra]: [WebServer, WebServer, WebServer] = [] as never;
let clock: FakeClock;
let bodies: URLSearchParams[];

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'azure-registry-'));
  const made = selfSigned(folder, 'registry');
  if (made === undefined) throw new Error('this test needs openssl');
  identity = made;
  writeFileSync(join(folder, 'token'), 'service account');
  writeFileSync(join(folder, '127.0.0.1'), identity.cert);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));
beforeEach(async () => {
  [registry, stranger, entra] = [
    await startWebServer(identity),
    await startWebServer(identity),
    await startWebServer(),
  ];
  clock = new FakeClock();
  bodies = [];
  entra.pages.set('/tenant/oauth2/v2.0/token', { body: '{"access_token":"arm","expires_in":3600}' });
  for (const server of [registry, entra])
    server.onBody = (body) => body !== '' && bodies.push(new URLSearchParams(body));
  const hours = clock.now() / 1000 + 3 * 3600;
  const refresh = `h.${Buffer.from(JSON.stringify({ exp: hours })).toString('base64url')}.s`;
  registry.pages.set('/oauth2/exchange', { body: JSON.stringify({ refresh_token: refresh }) });
  registry.pages.set(blobPath, ({ headers }) =>
    headers.authorization === 'Bearer pull' ? { body: content } : challenge(registry.url),
  );
  registry.pages.set(tokenPath, ({ headers }) =>
    headers.authorization === basic(refresh) ? { body: '{"access_token":"pull","expires_in":60}' } : { status: 401 },
  );
});
afterEach(() => Promise.all([registry.close(), stranger.close(), entra.close()]));

const challenge = (realm: string): ServedPage => ({
  status: 401,
  headers: { 'www-authenticate': `Bearer realm="${realm}/oauth2/token",service="reg"` },
});
const workload = (over: Readonly<Record<string, string>> = {}): AzureWorkload | undefined =>
  azureWorkloadOf({
    AZURE_TENANT_ID: 'tenant',
    AZURE_CLIENT_ID: 'me',
    AZURE_FEDERATED_TOKEN_FILE: join(folder, 'token'),
    AZURE_AUTHORITY_HOST: entra.url,
    ...over,
  });

interface ClientOptions {
  readonly denied?: readonly string[];
  readonly azureWorkload?: () => AzureWorkload | undefined;
}

function client({ denied = [], azureWorkload = workload }: ClientOptions = {}): OciClient {
  const hosts = new HostGate(8, new DeniedNetworks(denied, { allowLocal: true }));
  const web = new WebClient({ clock: systemClock, tlsCertificates: folder, proxies: {}, hosts });
  const azure = new CloudTokens({ clock, web, deadlineMs: 60_000, azureWorkload: azureWorkload() });
  return new OciClient({ clock, web, azure, limits: defaultLimits });
}

const repositoryWith = (over: Partial<Repository> = {}): Repository => ({
  ...bareRepository(`oci://${new URL(registry.url).host}/app`),
  azure: 'workload',
  ...over,
});
const blob = (repository = repositoryWith(), of = client()): Promise<Buffer> =>
  of.blob(repository, ociRepositoryOf(repository), digest, signal);
const sentTo = ({ asked }: WebServer): unknown[] => asked.map(({ headers }) => headers.authorization ?? '');

it('a registry of Azure exchanges a token of the workload identity, once in its lifetime', async () => {
  const one = client();
  expect(await blob(repositoryWith(), one)).toEqual(content);
  expect(bodies.map((body) => Object.fromEntries(body))).toEqual([
    expect.objectContaining({ client_id: 'me', scope: 'https://management.core.windows.net/.default' }),
    { grant_type: 'access_token', service: 'reg', access_token: 'arm' },
  ]);
  await clock.advance(2 * 3600_000);
  expect(await blob(repositoryWith(), one)).toEqual(content);
  expect(registry.asked.filter(({ path }) => path === '/oauth2/exchange')).toHaveLength(1);
  await clock.advance(3600_000);
  expect(await blob(repositoryWith(), one)).toEqual(content);
  expect(registry.asked.filter(({ path }) => path === '/oauth2/exchange')).toHaveLength(2);
});

it('a service principal and another cloud’s resource are used in the same way', async () => {
  const azure = { tenantId: 'tenant', clientId: 'sp', secret: new SecretValue('hunter2'), authority: entra.url };
  expect(await blob(repositoryWith({ azure }))).toEqual(content);
  expect(bodies[0]?.get('client_id')).toBe('sp');
  const china = workload({ AZURE_ARM_TOKEN_RESOURCE: 'https://management.core.chinacloudapi.cn' });
  expect(await blob(repositoryWith(), client({ azureWorkload: () => china }))).toEqual(content);
  expect(bodies[2]?.get('scope')).toBe('https://management.core.chinacloudapi.cn/.default');
});

it('a password goes before the identity', async () => {
  const repository = repositoryWith({ username: 'me', password: new SecretValue('own') });
  expect((await failureOf(blob(repository))).message).toContain('the token service refuses');
  expect(bodies).toEqual([]);
});

it.each<[string, () => void, string]>([
  [
    'the registry names the token service of another host',
    () => registry.pages.set(blobPath, challenge(stranger.url)),
    'it names the token service of another host',
  ],
  [
    'the exchange redirects to another host',
    () =>
      registry.pages.set('/oauth2/exchange', { status: 307, headers: { location: `${stranger.url}/oauth2/exchange` } }),
    'it exchanges no token (status 307)',
  ],
  [
    'a redirect leads to another registry',
    () => {
      registry.pages.set(blobPath, { status: 307, headers: { location: `${stranger.url}${blobPath}` } });
      stranger.pages.set(blobPath, challenge(stranger.url));
    },
    '401 Unauthorized',
  ],
  [
    'the token service redirects to another host',
    () => {
      registry.pages.set(tokenPath, { status: 307, headers: { location: `${stranger.url}/token` } });
      stranger.pages.set('/token', { body: '{}' });
    },
    '401 Unauthorized',
  ],
  [
    'the registry asks for Basic',
    () => registry.pages.set(blobPath, { status: 401, headers: { 'www-authenticate': 'Basic realm="r"' } }),
    'does not allow tokens',
  ],
  [
    'the registry refuses the identity',
    () => registry.pages.set('/oauth2/exchange', { status: 401, body: 'arm' }),
    'it exchanges no token (status 401)',
  ],
])('no other host gets a token if %s', async (_what, arrange, message) => {
  arrange();
  const error = await failureOf(blob());
  expect(error.message).toContain(message);
  expect(error.message).not.toContain('arm');
  expect(sentTo(stranger).filter((value) => value !== '')).toEqual([]);
  expect(stranger.asked.map(({ path }) => path)).not.toContain('/oauth2/exchange');
});

it('a registry without https gets no token of Azure', async () => {
  const plain = await startWebServer();
  try {
    plain.pages.set(blobPath, challenge(plain.url));
    const repository = { ...repositoryWith(), url: `oci://${new URL(plain.url).host}/app`, ociForceHttp: true };
    expect((await failureOf(blob(repository))).message).toContain('a token of Azure is sent only over https');
    expect([bodies, sentTo(plain)]).toEqual([[], ['']]);
  } finally {
    await plain.close();
  }
});

it('a pod without an identity gets an error that names what it needs', async () => {
  const { message } = await failureOf(blob(repositoryWith(), client({ azureWorkload: () => undefined })));
  expect(message).toContain('this pod has none (AZURE_CLIENT_ID, AZURE_TENANT_ID');
});

it('a denied network gets no request', async () => {
  const { message } = await failureOf(blob(repositoryWith(), client({ denied: ['127.0.0.0/8'] })));
  expect(message).toContain('127.0.0.1 lies in a network that the configuration keeps sources out of');
  expect([...registry.asked, ...entra.asked]).toEqual([]);
});
