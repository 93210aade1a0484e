import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { omit, SecretValue, systemClock } from '#base';
import { bareRepository } from '#model';
import type { Repository } from '#model';
import { FakeClock } from '#support';
import { defaultLimits } from '../../limits.ts';
import { failureOf } from '../../testing/repository.ts';
import { startWebServer } from '../../testing/web-server.ts';
import type { ServedPage, WebServer } from '../../testing/web-server.ts';
import { WebClient } from '../network/web-client.ts';
import { OciClient, ociRepositoryOf } from './oci-client.ts';

const signal = new AbortController().signal;
const content = Buffer.from('layer');
const digest = `sha256:${createHash('sha256').update(content).digest('hex')}`;
const blobPath = `/v2/app/blobs/${digest}`;
const tagsPath = '/v2/app/tags/list?n=1000';
const basic = `Basic ${Buffer.from('me:hunter2').toString('base64')}`;

let registry: WebServer;
let stranger: WebServer;
beforeEach(async () => {
  [registry, stranger] = [await startWebServer(), await startWebServer()];
});
afterEach(() => Promise.all([registry.close(), stranger.close()]));

const repositoryWith = (over: Partial<Repository> = {}): Repository => ({
  ...bareRepository(`oci://${new URL(registry.url).host}/app`),
  ociForceHttp: true,
  username: 'me',
  password: new SecretValue('hunter2'),
  ...over,
});
const client = (): OciClient =>
  new OciClient({
    clock: new FakeClock(),
    web: new WebClient({ clock: systemClock, tlsCertificates: '/none', proxies: {} }),
    azure: { registryLogin: () => Promise.reject(new Error('no registry of Azure')) },
    limits: defaultLimits,
  });
const blob = (repository = repositoryWith()): Promise<Buffer> =>
  client().blob(repository, ociRepositoryOf(repository), digest, signal);
const bearerChallenge = (realm: string): ServedPage => ({
  status: 401,
  headers: { 'www-authenticate': `Bearer realm="${realm}/token",service="s"` },
});
const tokenPath = '/token?service=s&scope=repository%3Aapp%3Apull';
const sentTo = (server: WebServer): (string | undefined)[] =>
  server.asked.map(({ headers }) => headers.authorization).filter((value) => value !== undefined);

describe('credentials of a registry', () => {
  it('are not sent to a token service that a redirect target names', async () => {
    registry.pages.set(blobPath, { status: 307, headers: { location: `${stranger.url}/blob` } });
    stranger.pages.set('/blob', bearerChallenge(stranger.url));
    stranger.pages.set(tokenPath, { body: '{"token":"bait"}' });
    expect((await failureOf(blob())).message).toContain('401 Unauthorized');
    expect(stranger.asked.map(({ path }) => path)).toEqual(['/blob']);
    expect([sentTo(registry), sentTo(stranger)]).toEqual([[], []]);
  });

  it('are not sent because a redirect target asks for Basic', async () => {
    registry.pages.set(blobPath, { status: 307, headers: { location: `${stranger.url}/blob` } });
    stranger.pages.set('/blob', { status: 401, headers: { 'www-authenticate': 'Basic realm="r"' } });
    expect((await failureOf(blob())).message).toContain('401 Unauthorized');
    expect([sentTo(registry), sentTo(stranger)]).toEqual([[], []]);
  });

  it('go to the token service on another host that the registry names, but not where that redirects', async () => {
    const third = await startWebServer();
    registry.pages.set(blobPath, ({ headers }) =>
      headers.authorization === 'Bearer good' ? { body: content } : bearerChallenge(stranger.url),
    );
    stranger.pages.set(tokenPath, { status: 307, headers: { location: `${third.url}/token` } });
    third.pages.set('/token', { body: '{"token":"good"}' });
    try {
      expect(await blob()).toEqual(content);
      expect([sentTo(stranger), sentTo(third)]).toEqual([[basic], []]);
    } finally {
      await third.close();
    }
  });

  it('include no bearer token for a token service on another host', async () => {
    registry.pages.set(blobPath, bearerChallenge(stranger.url));
    stranger.pages.set(tokenPath, { body: '{"token":"new"}' });
    await failureOf(blob(repositoryWith({ bearerToken: new SecretValue('own') })));
    expect(sentTo(stranger)).toEqual([basic]);
    const repository = repositoryWith({ bearerToken: new SecretValue('own') });
    await failureOf(blob(omit(repository, 'username', 'password')));
    expect(sentTo(stranger)).toEqual([basic]);
  });

  it('are not sent to another host for the next page of tags', async () => {
    registry.pages.set(tagsPath, ({ headers }) =>
      headers.authorization === undefined
        ? { status: 401, headers: { 'www-authenticate': 'Basic realm="r"' } }
        : { headers: { link: `<${stranger.url}/v2/app/tags/list?last=1>; rel="next"` }, body: '{"tags":["1"]}' },
    );
    const repository = repositoryWith();
    expect(await client().tags(repository, ociRepositoryOf(repository), signal)).toEqual(['1']);
    expect(stranger.asked).toEqual([]);
  });

  it('end with the page whose link to the next one is no URL', async () => {
    registry.pages.set(tagsPath, { headers: { link: '<http://[>; rel="next"' }, body: '{"tags":["1"]}' });
    const repository = repositoryWith();
    expect(await client().tags(repository, ociRepositoryOf(repository), signal)).toEqual(['1']);
  });

  it.each(['ftp://h', 'file:///etc', 'nonsense://'])('are not sent to a token service at %s', async (realm) => {
    registry.pages.set(blobPath, bearerChallenge(realm));
    expect((await failureOf(blob())).message).toMatch(/is refused: the scheme|cannot be parsed/);
    expect(sentTo(registry)).toEqual([]);
  });
});
