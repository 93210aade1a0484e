import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { systemClock, systemRandom } from '#base';
import { startSimCluster } from '../../index.ts';
import type { SimCluster } from '../../index.ts';
import { podProxyRequest } from './pod-proxy.ts';

describe('pods/proxy', () => {
  it.each([
    [
      '/api/v1/namespaces/argocd/pods/https:web-0:8443/proxy/api/v1/x?limit=1',
      ['web-0', 8443, true, '/api/v1/x?limit=1'],
    ],
    ['/api/v1/namespaces/argocd/pods/web-0:8080/proxy', ['web-0', 8080, false, '/']],
    ['/api/v1/namespaces/argocd/pods/web-0/proxy/', ['web-0', 80, false, '/']],
    ['/api/v1/namespaces/argocd/pods/web-0/proxy?a=b', ['web-0', 80, false, '/?a=b']],
  ])('reads %s', (url, [pod, port, isHttps, path]) => {
    expect(podProxyRequest(url)).toEqual({ namespace: 'argocd', pod, port, isHttps, path });
  });

  it('leaves other requests alone', () => {
    expect(podProxyRequest('/api/v1/namespaces/argocd/pods/web-0')).toBeUndefined();
    expect(podProxyRequest('/api/v1/namespaces/argocd/pods/web-0/log')).toBeUndefined();
  });

  describe('of a simulated cluster', () => {
    let pod: Server;
    let cluster: SimCluster;
    let port: number;

    beforeEach(async () => {
      pod = createServer(({ url, headers }, response) => response.end(JSON.stringify({ url, headers })));
      await new Promise<void>((resolve) => pod.listen(0, '127.0.0.1', resolve));
      port = (pod.address() as AddressInfo).port;
      const podAddress = (_namespace: string, name: string): string | undefined =>
        name === 'web-0' ? '127.0.0.1' : undefined;
      const options = { name: 'hub', clock: systemClock, random: systemRandom, podAddress };
      cluster = await startSimCluster({ ...options, workloads: { enabled: false, delayMs: 0 } });
    });
    afterEach(async () => {
      await cluster.close();
      pod.closeAllConnections();
      await new Promise((resolve) => pod.close(resolve));
    });

    const read = (name: string, at = port): Promise<Response> =>
      fetch(`${cluster.url}/api/v1/namespaces/argocd/pods/${name}:${at}/proxy/page?a=b`, {
        headers: { authorization: 'Bearer of-the-api-server', 'x-driftless-token': 'of-the-pod' },
      });

    it('forwards without the credentials of the caller', async () => {
      const { url, headers } = (await (await read('web-0')).json()) as { url: string; headers: Record<string, string> };
      expect(url).toBe('/page?a=b');
      expect(headers['authorization']).toBeUndefined();
      expect(headers['x-driftless-token']).toBe('of-the-pod');
    });

    it('answers with a Status if there is no such pod, or it does not listen', async () => {
      expect(await (await read('web-1')).json()).toMatchObject({
        kind: 'Status',
        code: 404,
        message: 'pods "web-1" not found',
      });
      expect(await (await read('web-0', 1)).json()).toMatchObject({ kind: 'Status', code: 503 });
    });
  });
});
