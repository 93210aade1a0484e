import { mkdirSync, readFileSync } from 'node:fs';
import { get } from 'node:https';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ApiClient, eventually } from '#support';
import { config } from '../acceptance/objects.ts';
import { TestApplication } from './applications.ts';
import { freePort, startServers, temporaryFolder, toolPath } from './support/index.ts';
import type { Server, Servers } from './support/index.ts';
import { startOidcIssuer } from './support/oidc-issuer.ts';
import type { OidcIssuer, OidcUser } from './support/oidc-issuer.ts';
import { ServerProcess } from './support/processes.ts';
import { UnderTest } from './under-test.ts';

const client = 'driftless';
const viewer: OidcUser = { email: 'ada@example.com', groups: ['viewers'] };
const stranger: OidcUser = { email: 'eve@example.com', groups: ['others'] };
const limitMs = 120_000;

const folder = temporaryFolder('sign-in');
let issuer: OidcIssuer;
let world: Servers<'hub'>;
let hub: Server;
let controller: UnderTest;
let apiPort: number;

/** oauth2-proxy with the flags of docs/dashboard.md, before one upstream. */
class Proxy {
  readonly url: string;
  readonly #process: ServerProcess;

  private constructor(url: string, program: ServerProcess) {
    this.url = url;
    this.#process = program;
  }

  static async start(name: string, more: readonly string[]): Promise<Proxy> {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const args = [
      '--provider=oidc',
      `--oidc-issuer-url=${issuer.url}`,
      `--provider-ca-file=${issuer.caFile}`,
      `--client-id=${client}`,
      '--client-secret=not-checked',
      '--cookie-secret=0123456789abcdef0123456789abcdef',
      '--cookie-secure=false',
      '--email-domain=*',
      '--scope=openid email groups',
      '--skip-provider-button',
      `--http-address=127.0.0.1:${port}`,
      `--redirect-url=${url}/oauth2/callback`,
      ...more,
    ];
    const program = new ServerProcess(toolPath('oauth2-proxy'), args, join(folder.path, `${name}.log`));
    program.start();
    await eventually(async () => expect((await fetch(`${url}/ping`)).status).toBe(200), limitMs);
    return new Proxy(url, program);
  }

  stop(): Promise<void> {
    return this.#process.stop();
  }

  /** Signs a user in as a browser would. @returns the cookies of the session */
  async signIn(user: OidcUser): Promise<string> {
    issuer.user = user;
    const begun = await fetch(`${this.url}/oauth2/start?rd=/`, { redirect: 'manual' });
    const asked = new URL(begun.headers.get('location') ?? '');
    expect(asked.origin).toBe(issuer.url);
    const browser = new ApiClient({ server: issuer.url, ca: readFileSync(issuer.caFile, 'utf8') });
    const granted = await browser.exchange({ method: 'GET', path: `${asked.pathname}${asked.search}` });
    await browser.close();
    const back = await fetch(granted.headers['location'] ?? '', {
      redirect: 'manual',
      headers: { cookie: cookiesOf(begun) },
    });
    expect([back.status, back.headers.get('location')]).toEqual([302, '/']);
    return cookiesOf(back);
  }
}

function cookiesOf(answer: Response): string {
  return answer.headers
    .getSetCookie()
    .map((line) => line.split(';', 1)[0])
    .join('; ');
}

beforeAll(async () => {
  const at = join(folder.path, 'issuer');
  mkdirSync(at);
  issuer = await startOidcIssuer(at, client);
  world = await startServers({
    names: ['hub'],
    apiserver: [
      `--oidc-issuer-url=${issuer.url}`,
      `--oidc-ca-file=${issuer.caFile}`,
      `--oidc-client-id=${client}`,
      '--oidc-username-claim=email',
      '--oidc-groups-claim=groups',
    ],
  });
  hub = world.servers.hub;
  controller = await UnderTest.install({
    server: hub,
    folder: world.folder,
    values: {
      rbac: { clusterWrite: true },
      dashboard: { enabled: true, viewer: { create: true } },
    },
    apiHost: '127.0.0.1',
  });
  apiPort = controller.pods.all()[0]?.apiPort ?? 0;
  // The commands of docs/dashboard.md.
  await hub.kubectl(['-n', 'argocd', 'create', 'rolebinding', 'viewers', '--role=driftless-viewer', '--group=viewers']);
  await TestApplication.create({ hub, folder: world.folder }, 'shop', { files: { 'a.yaml': config('a', 'x') } });
}, 300_000);

afterAll(async () => {
  await controller.stop();
  await world.close();
  await issuer.close();
  folder.remove();
});

interface List {
  readonly items: readonly { readonly name: string }[];
}

describe('the dashboard behind oauth2-proxy', () => {
  let proxy: Proxy;
  beforeAll(async () => {
    const upstream = [`--upstream=https://127.0.0.1:${apiPort}`, '--ssl-upstream-insecure-skip-verify'];
    proxy = await Proxy.start('proxy', [...upstream, '--pass-authorization-header']);
  }, limitMs);
  afterAll(() => proxy.stop());

  const read = async (cookie: string, path: string): Promise<Response> =>
    fetch(`${proxy.url}${path}`, { redirect: 'manual', headers: { cookie } });

  it('shows nothing to visitors who have not signed in', async () => {
    const visit = await read('', '/api/v1/applications');
    expect([visit.status, visit.headers.get('location')]).toEqual([302, expect.stringContaining(issuer.url)]);
  });

  it(
    'shows a user what RBAC binds to its group, and asks for no token',
    async () => {
      const cookie = await proxy.signIn(viewer);
      expect(await (await read(cookie, '/')).text()).toMatch(/<html/);
      await eventually(async () => {
        const answer = await read(cookie, '/api/v1/applications');
        const { items } = (await answer.json()) as List;
        expect([answer.status, items.map(({ name }) => name)]).toEqual([200, ['shop']]);
      }, limitMs);
      expect((await read(cookie, '/api/v1/ownership')).status).toBe(200);
    },
    limitMs,
  );

  it('shows another user of the same issuer nothing', async () => {
    const cookie = await proxy.signIn(stranger);
    const answer = await read(cookie, '/api/v1/applications');
    expect([answer.status, ((await answer.json()) as List).items]).toEqual([200, []]);
    const refused = await read(cookie, '/api/v1/ownership');
    expect([refused.status, await refused.text()]).toEqual([
      403,
      expect.stringContaining('get applications.argoproj.io'),
    ]);
  });

  it(
    'sends changes as they happen through the proxy',
    async () => {
      const cookie = await proxy.signIn(viewer);
      const stop = new AbortController();
      const stream = await fetch(`${proxy.url}/api/v1/stream`, { headers: { cookie }, signal: stop.signal });
      expect(stream.headers.get('content-type')).toMatch(/^text\/event-stream/);
      await TestApplication.create({ hub, folder: world.folder }, 'later', { files: { 'a.yaml': config('b', 'x') } });
      let seen = '';
      for await (const chunk of stream.body ?? []) {
        seen += Buffer.from(chunk).toString();
        if (seen.includes('"name":"later"')) break;
      }
      stop.abort();
      expect(seen).toContain('"name":"later"');
    },
    limitMs,
  );
});

/** Its certificate is self-signed, which the Ingress does not check. */
function statusOfDashboard(headers: Readonly<Record<string, string>>): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const url = `https://127.0.0.1:${apiPort}/api/v1/ownership`;
    get(url, { headers, rejectUnauthorized: false }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    }).on('error', reject);
  });
}

describe('oauth2-proxy beside an Ingress, as in docs/dashboard.md', () => {
  it(
    'gives the Ingress the header with which the API server knows the user',
    async () => {
      const proxy = await Proxy.start('auth', ['--set-authorization-header', '--upstream=static://202']);
      try {
        expect((await fetch(`${proxy.url}/oauth2/auth`)).status).toBe(401);
        const checked = await fetch(`${proxy.url}/oauth2/auth`, { headers: { cookie: await proxy.signIn(viewer) } });
        const authorization = checked.headers.get('authorization') ?? '';
        expect([checked.status, authorization]).toEqual([202, expect.stringMatching(/^Bearer /)]);
        expect(await statusOfDashboard({ authorization })).toBe(200);
        expect(await statusOfDashboard({ authorization: `${authorization}x` })).toBe(401);
      } finally {
        await proxy.stop();
      }
    },
    limitMs,
  );
});
