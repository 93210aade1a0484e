import { createServer } from 'node:http';
import { request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { ApiServer, createCertificate, ReadApi, TokenAccess } from '#api';
import { isObject, Shutdown, systemClock } from '#base';
import { dashboardFiles } from '#dashboard';
import type { KubeObject } from '#model';
import { eventually } from '#support';
import { silentLogger } from '#telemetry';
import { factsOf, idleController, ownershipOf } from '../../api/testing/index.ts';
import { startBrowser, WatchedPage } from './browser.ts';

let browser: Browser;
let stop: AbortController;
let running: Promise<void>;
let url: string;
let apps: KubeObject[];
/** The namespaces that each token may read; "": all. */
let rights: Map<string, readonly string[]>;
let watched: WatchedPage | undefined;

const app = (namespace: string, name: string, resourceVersion = '1'): KubeObject => ({
  apiVersion: 'argoproj.io/v1alpha1',
  kind: 'Application',
  metadata: { namespace, name, resourceVersion },
  spec: { project: 'default', source: { repoURL: 'https://git/x' }, destination: { name: 'c' } },
});

/** The reviews of an API server that knows {@link rights}. */
function review(object: KubeObject): KubeObject {
  const spec = isObject(object['spec']) ? object['spec'] : {};
  const attributes = isObject(spec['resourceAttributes']) ? spec['resourceAttributes'] : {};
  const [token, user, namespace] = [spec['token'], spec['user'], attributes['namespace']].map((value) =>
    typeof value === 'string' ? value : '',
  );
  const status =
    object.kind === 'TokenReview'
      ? { authenticated: rights.has(token ?? ''), user: { username: token ?? '', groups: [] } }
      : { allowed: rights.get(user ?? '')?.includes(namespace ?? '') === true };
  return { ...object, status };
}

const known = (): ReadonlyMap<string, KubeObject> =>
  new Map(apps.map((each) => [`${each.metadata.namespace ?? ''}/${each.metadata.name ?? ''}`, each]));
const facts = factsOf(idleController(known), systemClock, {
  name: 'driftless-0',
  ownership: { ...ownershipOf(() => ({ epoch: 1 })), placeOf: () => undefined },
});

beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

beforeEach(async () => {
  apps = [app('team-a', 'web'), app('team-a', 'api'), app('team-b', 'secret-project')];
  rights = new Map([
    ['of-team-a', ['team-a']],
    ['of-all', ['']],
    ['of-nobody', []],
  ]);
  stop = new AbortController();
  const server = new ApiServer(
    {
      api: new ReadApi({ facts, clock: systemClock, peers: () => [] }),
      access: new TokenAccess({
        clock: systemClock,
        logger: silentLogger,
        client: { create: (_resource, object) => Promise.resolve(review(object)) },
      }),
      peerFingerprints: () => new Set(),
      certificate: await createCertificate('driftless-0', systemClock.now()),
      logger: silentLogger,
      files: dashboardFiles('dist/dashboard/page'),
    },
    { host: '127.0.0.1', port: 0 },
  );
  running = server.run(stop.signal);
  await eventually(() => expect(server.port).toBeDefined());
  url = `https://127.0.0.1:${server.port ?? 0}`;
});
afterEach(async () => {
  await watched?.close();
  stop.abort(new Shutdown());
  await running;
});

async function signedIn(token: string): Promise<WatchedPage> {
  watched = await WatchedPage.open(browser, `${url}/#/applications?view=all`, { ignoreHTTPSErrors: true });
  await watched.page.getByLabel('Kubernetes token').fill(token);
  await watched.page.getByRole('button', { name: 'Sign in' }).click();
  return watched;
}

/** Forwards requests with headers that say who has signed in. */
async function signInProxy(
  headers: Readonly<Record<string, string>>,
): Promise<{ readonly url: string; readonly close: () => void }> {
  const server = createServer((visit, reply) => {
    const forwarded = request(
      new URL(visit.url ?? '/', url),
      { method: visit.method, headers: { ...visit.headers, ...headers }, rejectUnauthorized: false },
      (answer) => {
        reply.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(reply);
      },
    );
    forwarded.on('error', () => reply.destroy());
    reply.on('close', () => forwarded.destroy());
    visit.pipe(forwarded);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = (): void => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${port}`, close };
}

describe('the page on the listener of a replica', () => {
  it('asks for a token, refuses a wrong one in words, and has no violation that axe-core finds', async () => {
    const { page } = await signedIn('wrong');
    await page.getByText('the API server does not accept this token').waitFor();
    await watched?.screenshot('sign-in');
    await watched?.check();
  });

  it('shows one namespace to a token that may see one, also as things change', async () => {
    const { page } = await signedIn('of-team-a');
    await page.getByText('2 shown of 2').waitFor();
    apps = [app('team-a', 'web'), app('team-a', 'api'), app('team-a', 'new'), app('team-b', 'secret-project', '2')];
    await page.getByRole('row', { name: /new/ }).waitFor();
    expect(await page.content()).not.toContain('secret-project');
    await page.goto(`${url}/#/`);
    await page.getByText(/this page needs the right to get applications.argoproj.io in namespace "argocd"/).waitFor();
    await page.goto(`${url}/#/applications/team-b/secret-project`);
    await page
      .getByText(/this page needs the right .* in namespace "team-b"/)
      .first()
      .waitFor();
  });

  it('keeps the token in this tab only, and forgets it on sign-out', async () => {
    const { page } = await signedIn('of-all');
    await page.getByText('3 shown of 3').waitFor();
    expect(await page.evaluate('JSON.stringify(localStorage) + document.cookie')).not.toContain('of-all');
    const other = await page.context().newPage();
    await other.goto(url);
    await other.getByLabel('Kubernetes token').waitFor();
    await page.reload();
    await page.getByText('3 shown of 3').waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Kubernetes token').waitFor();
    expect(await page.evaluate('sessionStorage.length')).toBe(0);
  });

  // As oauth2-proxy with --pass-authorization-header, and proxies with a header of their own.
  it.each(['authorization', 'x-driftless-token'])(
    'asks for no token behind a proxy that sends one as %s',
    async (name) => {
      const sent = name === 'authorization' ? 'Bearer of-team-a' : 'of-team-a';
      const proxy = await signInProxy({ [name]: sent });
      try {
        watched = await WatchedPage.open(browser, `${proxy.url}/#/applications?view=all`);
        const { page } = watched;
        await page.getByText('2 shown of 2').waitFor();
        expect(await page.content()).not.toContain('secret-project');
        expect(await page.getByRole('button', { name: 'Sign out' }).count()).toBe(0);
        // A header that a visitor adds gives no other rights.
        const other = name === 'authorization' ? 'x-driftless-token' : 'authorization';
        const forged = await fetch(`${proxy.url}/api/v1/applications`, {
          headers: { [other]: other === 'authorization' ? 'Bearer of-all' : 'of-all' },
        });
        expect(forged.status).toBe(400);
      } finally {
        proxy.close();
      }
    },
  );

  it('shows nothing to a user without rights, until there are some', async () => {
    const { page } = await signedIn('of-nobody');
    await page.getByText('There are no Applications that you may see.').waitFor();
    await page.getByText('No rights').waitFor();
    rights.set('of-nobody', ['team-a']);
    await page.getByText('2 shown of 2').waitFor({ timeout: 90_000 });
  }, 120_000);

  it('shows nothing any more when the rights are gone', async () => {
    const { page } = await signedIn('of-team-a');
    await page.getByText('2 shown of 2').waitFor();
    rights.set('of-team-a', []);
    await page.getByText('There are no Applications that you may see.').waitFor({ timeout: 90_000 });
  }, 120_000);
});
