import { describe, expect, it } from '@jest/globals';
import { parseJson, SecretValue, systemClock } from '#base';
import type { ClusterCredentials } from '#model';
import { silentLogger } from '#telemetry';
import { PodProxy } from './pod-proxy.ts';
import { closedAfterEach, noSignal, ScriptedServer } from './testing/index.ts';
import type { Turn } from './testing/index.ts';

const pod = { namespace: 'argocd', name: 'driftless-0', port: 8085 };
const open = closedAfterEach();

async function proxyTo(
  play: (turn: Turn) => void,
  credentials: ClusterCredentials = { bearerToken: new SecretValue('user-token') },
): Promise<{ readonly server: ScriptedServer; readonly proxy: PodProxy }> {
  const server = await ScriptedServer.start(play);
  const connection = { server: server.url, insecure: false, credentials };
  const proxy = new PodProxy(connection, { clock: systemClock, logger: silentLogger, userAgent: 'test' });
  open.push(server, proxy);
  return { server, proxy };
}

describe('a page of a pod', () => {
  it('is read through the API server, with the token of the kubeconfig for both', async () => {
    const { server, proxy } = await proxyTo((turn) => turn.reply(200, { kind: 'Queues' }));
    const answer = await proxy.get(pod, '/api/v1/queues?x=1', { signal: noSignal });
    expect(answer).toEqual({ status: 200, body: { kind: 'Queues' } });
    const [turn] = server.turns;
    expect(`${turn?.method} ${turn?.path}?${turn?.query.toString()}`).toBe(
      'GET /api/v1/namespaces/argocd/pods/https:driftless-0:8085/proxy/api/v1/queues?x=1',
    );
    expect(turn?.headers).toMatchObject({ authorization: 'Bearer user-token', 'x-driftless-token': 'user-token' });
  });

  it('gets another token for the pod if one is given, and never a password', async () => {
    const credentials = { username: 'u', password: new SecretValue('hunter2') };
    const { server, proxy } = await proxyTo((turn) => turn.reply(200, {}), credentials);
    expect(await proxy.hasToken(noSignal)).toBe(false);
    await proxy.get(pod, '/api/v1/queues', { signal: noSignal });
    await proxy.get(pod, '/api/v1/queues', { signal: noSignal, token: new SecretValue('short-lived') });
    expect(server.turns.map(({ headers }) => headers['x-driftless-token'])).toEqual([undefined, 'short-lived']);
  });

  it.each([
    [
      'a status',
      { kind: 'Status', message: 'pods "driftless-0" is forbidden' },
      { kind: 'Status', message: 'pods "driftless-0" is forbidden' },
    ],
    ['a page', '<html>gateway</html>', { message: '<html>gateway</html>' }],
  ])('that is refused with %s gives its status and text', async (_what, reply, body) => {
    const { proxy } = await proxyTo((turn) => turn.reply(403, reply));
    expect(await proxy.get(pod, '/api/v1/queues', { signal: noSignal })).toEqual({ status: 403, body });
  });

  it('cannot leave the path of its pod by its name', async () => {
    const { server, proxy } = await proxyTo((turn) => turn.reply(200, {}));
    await proxy.get({ ...pod, name: '../../secrets/x' }, '/api/v1/queues', { signal: noSignal });
    expect(server.turns[0]?.path).toBe(
      '/api/v1/namespaces/argocd/pods/https:..%2F..%2Fsecrets%2Fx:8085/proxy/api/v1/queues',
    );
  });
});

describe('a token of a ServiceAccount', () => {
  it('is asked for ten minutes', async () => {
    const { server, proxy } = await proxyTo((turn) => turn.reply(201, { status: { token: 'short-lived' } }));
    expect((await proxy.serviceAccountToken('argocd', 'reader', noSignal)).reveal()).toBe('short-lived');
    expect(server.turns[0]?.path).toBe('/api/v1/namespaces/argocd/serviceaccounts/reader/token');
    expect(parseJson(server.turns[0]?.body ?? '')).toMatchObject({
      kind: 'TokenRequest',
      spec: { expirationSeconds: 600 },
    });
  });

  it('that is refused names the reason', async () => {
    const { proxy } = await proxyTo((turn) => turn.status(403, 'Forbidden', 'cannot create serviceaccounts/token'));
    await expect(proxy.serviceAccountToken('argocd', 'reader', noSignal)).rejects.toThrow(
      'cannot create serviceaccounts/token',
    );
  });
});
