import { generateKeyPairSync, createVerify } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { SecretValue, systemClock } from '#base';
import { bareRepository } from '#model';
import type { Repository } from '#model';
import { FakeClock } from '#support';
import { failureOf } from '../../testing/repository.ts';
import { startWebServer } from '../../testing/web-server.ts';
import type { WebServer } from '../../testing/web-server.ts';
import { azureWorkloadOf, CloudTokens } from './cloud-tokens.ts';
import type { AzureWorkload } from './cloud-tokens.ts';
import { WebClient } from '../network/web-client.ts';

const never = new AbortController().signal;
let folder: string;
let server: WebServer;
let bodies: URLSearchParams[];
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'credentials-'));
  server = await startWebServer();
  bodies = [];
});
afterEach(async () => {
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

function tokens(clock: FakeClock, azureWorkload?: AzureWorkload): CloudTokens {
  const web = new WebClient({ clock: systemClock, tlsCertificates: folder, proxies: {} });
  return new CloudTokens({ clock, web, deadlineMs: 60_000, azureWorkload });
}

/** The Basic or Bearer credentials that git would receive. */
function shown(given: {
  readonly username?: string;
  readonly password?: SecretValue;
  readonly bearerToken?: SecretValue;
}): string {
  return `${given.username ?? ''}:${given.password?.reveal() ?? ''} ${given.bearerToken?.reveal() ?? ''}`;
}

describe('Google tokens', () => {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const keyOf = (over: object = {}): SecretValue =>
    new SecretValue(
      JSON.stringify({
        client_email: 'robot@example.iam.gserviceaccount.com',
        private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
        private_key_id: 'k1',
        token_uri: `${server.url}/token`,
        ...over,
      }),
    );
  const of = (googleKey: SecretValue): Repository => ({ ...bareRepository('https://source.example.com/r'), googleKey });

  it('are requested with a signed assertion and cached until they expire', async () => {
    const clock = new FakeClock();
    let round = 0;
    server.pages.set('/token', () => {
      round += 1;
      return { body: JSON.stringify({ access_token: `t${round}`, expires_in: 3600 }) };
    });
    server.onBody = (body) => void bodies.push(new URLSearchParams(body));
    const one = tokens(clock);
    const repository = of(keyOf());
    expect(shown(await one.credentials(repository, never))).toBe('robot@example.iam.gserviceaccount.com:t1 ');
    await clock.advance(3_200_000);
    expect(shown(await one.credentials(repository, never))).toContain(':t1 ');
    await clock.advance(200_000);
    expect(shown(await one.credentials(repository, never))).toContain(':t2 ');
    const [head = '', claims = '', signature = ''] = (bodies[0]?.get('assertion') ?? '').split('.');
    expect(createVerify('RSA-SHA256').update(`${head}.${claims}`).verify(publicKey, signature, 'base64url')).toBe(true);
    expect(JSON.parse(Buffer.from(claims, 'base64url').toString())).toMatchObject({
      iss: 'robot@example.iam.gserviceaccount.com',
      aud: `${server.url}/token`,
      scope: 'https://www.googleapis.com/auth/cloud-platform',
    });
  });

  it('report an unusable key without showing it', async () => {
    const one = tokens(new FakeClock());
    const message = async (key: SecretValue): Promise<string> =>
      (await failureOf(one.credentials(of(key), never))).message;
    expect(await message(new SecretValue('hunter2'))).toMatch(/gcpServiceAccountKey is no JSON$/);
    expect(await message(keyOf({ client_email: '' }))).toContain('it needs client_email, private_key and token_uri');
    expect(await message(keyOf({ private_key: 'hunter2' }))).toMatch(/has a private_key that cannot be read$/);
    expect(await message(keyOf())).toMatch(/answers with status 404$/);
  });
});

describe('Azure tokens', () => {
  const page = '/tenant/oauth2/v2.0/token';

  it('use workload identity and read the ServiceAccount token for each request', async () => {
    server.pages.set(page, { body: JSON.stringify({ access_token: 'azure', expires_in: 0 }) });
    server.onBody = (body) => void bodies.push(new URLSearchParams(body));
    const file = join(folder, 'token');
    const names = { AZURE_TENANT_ID: 'tenant', AZURE_CLIENT_ID: 'me', AZURE_AUTHORITY_HOST: `${server.url}/` };
    const one = tokens(new FakeClock(), azureWorkloadOf({ ...names, AZURE_FEDERATED_TOKEN_FILE: file }));
    const repository: Repository = { ...bareRepository('https://dev.azure.com/o/_git/r'), azure: 'workload' };
    for (const text of ['first\n', 'second\n']) {
      writeFileSync(file, text);
      expect(shown(await one.credentials(repository, never))).toBe(': azure');
    }
    expect(bodies.map((body) => body.get('client_assertion'))).toEqual(['first', 'second']);
    expect(bodies[0]?.get('scope')).toBe('499b84ac-1321-427f-aa17-267ca6975798/.default');
    const { message } = await failureOf(tokens(new FakeClock()).credentials(repository, never));
    expect(message).toContain('this pod has none (AZURE_CLIENT_ID');
    expect(azureWorkloadOf(names)).toBeUndefined();
  });

  it('of a service principal are used no longer than configured', async () => {
    let round = 0;
    server.pages.set(page, () => ({ body: JSON.stringify({ access_token: `t${(round += 1)}`, expires_in: 3600 }) }));
    const clock = new FakeClock();
    const web = new WebClient({ clock: systemClock, tlsCertificates: folder, proxies: {} });
    const one = new CloudTokens({ clock, web, deadlineMs: 60_000, maxPrincipalTokenMs: 60_000 });
    const azure = { tenantId: 'tenant', clientId: 'c', secret: new SecretValue('hunter2'), authority: server.url };
    const repository = { ...bareRepository('https://dev.azure.com/o/_git/r'), azure };
    const used: string[] = [];
    for (const passed of [0, 59_000, 2000]) {
      await clock.advance(passed);
      used.push(shown(await one.credentials(repository, never)));
    }
    expect(used).toEqual([': t1', ': t1', ': t2']);
  });

  it('use a service principal', async () => {
    server.pages.set(page, { body: JSON.stringify({ access_token: 'sp', expires_in: 3600 }) });
    const azure = { tenantId: 'tenant', clientId: 'c', secret: new SecretValue('hunter2'), authority: server.url };
    const repository = { ...bareRepository('https://dev.azure.com/o/_git/r'), azure };
    expect(shown(await tokens(new FakeClock()).credentials(repository, never))).toBe(': sp');
    server.pages.set(page, { status: 401, body: 'hunter2' });
    const { message } = await failureOf(tokens(new FakeClock()).credentials(repository, never));
    expect(message).toMatch(/^failed to authenticate as the Azure service principal c: .* status 401$/);
  });
});
