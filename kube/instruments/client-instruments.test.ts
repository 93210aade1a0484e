import { describe, expect, it } from '@jest/globals';
import { SecretValue } from '#base';
import { jsonOf } from '#model';
import type { ClusterCredentials } from '#model';
import { FakeClock } from '#support';
import { PromMetrics } from '#telemetry';
import {
  clientFor,
  closedAfterEach,
  configMaps,
  noSignal,
  object,
  ScriptedServer,
  selfSigned,
} from '../testing/index.ts';
import type { Turn } from '../testing/index.ts';
import type { KubeClient, RunCommand } from '../index.ts';
import { ClientInstruments } from './client-instruments.ts';
import { requestFacts } from './request-facts.ts';

const open = closedAfterEach();

interface Measured {
  readonly client: KubeClient;
  readonly server: ScriptedServer;
  /** Samples of a family, without its name and host. */
  readonly samples: (name: string) => Promise<string[]>;
}

async function measured(
  play: (turn: Turn) => void,
  setup: Omit<NonNullable<Parameters<typeof clientFor>[1]>, 'instruments'> = {},
): Promise<Measured> {
  const server = await ScriptedServer.start(play);
  const metrics = new PromMetrics();
  const client = clientFor(server, { ...setup, instruments: new ClientInstruments(metrics) });
  open.push(server, client);
  const host = `host="${new URL(server.url).host}"`;
  return {
    client,
    server,
    samples: async (name) => {
      const lines = (await metrics.expose()).split('\n').filter((line) => line.startsWith(name));
      return lines.map((line) => line.slice(name.length).replace(host, 'host'));
    },
  };
}

const version = (turn: Turn): void => turn.reply(200, { gitVersion: 'v1' });

describe('metrics of a client', () => {
  it('count requests by method and code, and their sizes', async () => {
    const { client, samples } = await measured((turn) => turn.reply(200, jsonOf(object('a', '1'))));
    await client.get(configMaps, { name: 'a', namespace: 'default' }, { signal: noSignal });
    await client.create(configMaps, object('a', '1'), { signal: noSignal });
    expect(await samples('argocd_kubectl_requests_total')).toEqual([
      '{host,method="GET",code="200"} 1',
      '{host,method="POST",code="200"} 1',
    ]);
    expect(await samples('argocd_kubectl_request_size_bytes_count')).toEqual([
      '{host,method="GET"} 1',
      '{host,method="POST"} 1',
    ]);
    expect((await samples('argocd_kubectl_request_size_bytes_sum'))[0]).toBe('{host,method="GET"} 0');
    expect((await samples('argocd_kubectl_response_size_bytes_sum'))[0]).toMatch(/method="GET"\} [1-9]\d+$/);
    expect(await samples('argocd_kubectl_request_duration_seconds_count')).toEqual([
      '{host,verb="Get"} 1',
      '{host,verb="Create"} 1',
    ]);
    expect(await samples('argocd_kubectl_rate_limiter_duration_seconds_count')).toHaveLength(2);
    expect(await samples('argocd_kubectl_request_retries_total')).toEqual([]);
  });

  it('count retries by the code of the repeated attempt, and one call', async () => {
    let turns = 0;
    const { client, samples } = await measured((turn) => {
      turns += 1;
      if (turns < 3) turn.status(503, 'ServiceUnavailable', 'busy', { 'retry-after': '0' });
      else version(turn);
    });
    await client.version({ signal: noSignal });
    expect(await samples('argocd_kubectl_request_retries_total')).toEqual([
      '{host,method="GET",code="503"} 1',
      '{host,method="GET",code="200"} 1',
    ]);
    expect(await samples('argocd_kubectl_request_duration_seconds_count')).toEqual(['{host,verb="Get"} 1']);
  });

  it('name a request without an answer <error>', async () => {
    const { client, server, samples } = await measured(version);
    await server.close();
    await expect(client.version({ signal: noSignal, deadlineMs: 300 })).rejects.toThrow();
    expect((await samples('argocd_kubectl_requests_total'))[0]).toMatch(/^\{host,method="GET",code="<error>"\}/);
  });

  it('measure the wait for the rate limit', async () => {
    const clock = new FakeClock();
    const { client, samples } = await measured(version, { clock, limits: { qps: 1, burst: 1 } });
    await client.version({ signal: noSignal });
    const second = client.version({ signal: noSignal });
    await clock.settle();
    await clock.advance(1000);
    await second;
    expect(await samples('argocd_kubectl_rate_limiter_duration_seconds_sum')).toEqual(['{host,verb="Get"} 1']);
  });

  it('measure the resolution of names, and not of addresses', async () => {
    const { server, samples } = await measured(version);
    expect(await samples('argocd_kubectl_dns_resolution_duration_seconds_count')).toEqual([]);
    const metrics = new PromMetrics();
    const url = `http://localhost:${new URL(server.url).port}`;
    const named = clientFor({ url }, { instruments: new ClientInstruments(metrics) });
    open.push(named);
    await named.version({ signal: noSignal }).catch(() => undefined);
    expect(await metrics.expose()).toContain(
      'argocd_kubectl_dns_resolution_duration_seconds_count{host="localhost"} 1\n',
    );
  });

  it('count connections that were opened, shared and closed', async () => {
    const { client, samples } = await measured(version);
    await client.version({ signal: noSignal });
    await client.impersonate('jane').version({ signal: noSignal });
    expect(await samples('argocd_kubectl_transport_create_calls_total')).toEqual([
      '{result="miss"} 1',
      '{result="hit"} 1',
    ]);
    expect(await samples('argocd_kubectl_transport_cache_entries')).toEqual([' 1']);
    await client.close();
    expect(await samples('argocd_kubectl_transport_cache_entries')).toEqual([' 0']);
  });

  it('go with the last client of their host', async () => {
    const { client, samples } = await measured(version);
    await client.version({ signal: noSignal });
    await client.close();
    await client.close();
    for (const name of ['argocd_kubectl_requests_total', 'argocd_kubectl_request_duration_seconds_count'])
      expect(await samples(name)).toEqual([]);
  });

  it('show the age of a client certificate that was replaced', async () => {
    const clock = new FakeClock(Date.UTC(2020, 0, 2));
    const tls = (): ClusterCredentials => {
      const { cert, key } = selfSigned();
      return { certData: new SecretValue(cert), keyData: new SecretValue(key) };
    };
    const { client, server, samples } = await measured(version, { clock, connection: { credentials: tls() } });
    await client.version({ signal: noSignal });
    expect(await samples('argocd_kubectl_client_cert_rotation_age_seconds')).toEqual([]);
    client.updateCredentials({ server: server.url, insecure: false, credentials: tls() });
    await client.version({ signal: noSignal });
    expect(await samples('argocd_kubectl_client_cert_rotation_age_seconds')).toEqual([' 86400']);
  });

  it.each([
    [{ code: 0, stdout: 'x', stderr: '' }, '{code="0",call_status="no_error"} 1'],
    [{ code: 7, stdout: '', stderr: '' }, '{code="7",call_status="plugin_execution_error"} 1'],
    ['ENOENT', '{code="1",call_status="plugin_not_found_error"} 1'],
    ['EACCES', '{code="1",call_status="client_internal_error"} 1'],
  ])('count runs of credential plugins: %j', async (result, expected) => {
    const runCommand: RunCommand = () =>
      typeof result === 'string'
        ? Promise.reject(Object.assign(new Error(result), { code: result }))
        : Promise.resolve(result);
    const exec = { command: 'plugin', args: [], env: {}, apiVersion: 'v1', provideClusterInfo: false };
    const { client, samples } = await measured(version, { runCommand, connection: { credentials: { exec } } });
    await expect(client.version({ signal: noSignal })).rejects.toThrow();
    expect(await samples('argocd_kubectl_exec_plugin_call_total')).toEqual([expected]);
  });
});

describe('what a URL says', () => {
  it.each([
    ['GET', '/api/v1/pods', 'List', 'pods', ''],
    ['GET', '/api/v1/namespaces/a/pods?watch=true&x=1', 'Watch', 'pods', 'a'],
    ['GET', '/api/v1/namespaces/a/pods/b', 'Get', 'pods', 'a'],
    ['GET', '/api/v1/namespaces/a/pods/b/log', 'Get', 'pods', 'a'],
    ['GET', '/api/v1/namespaces/a', 'Get', 'namespaces', ''],
    ['GET', '/apis/apps/v1/namespaces/a/deployments?labelSelector=watch%3Dtrue', 'List', 'deployments', 'a'],
    ['PATCH', '/apis/apps/v1/namespaces/a/deployments/b/scale', 'Patch', 'deployments', 'a'],
    ['PUT', '/apis/apps/v1/namespaces/a/deployments/b', 'Update', 'deployments', 'a'],
    ['POST', '/api/v1/namespaces', 'Create', 'namespaces', ''],
    ['DELETE', '/apis/rbac.authorization.k8s.io/v1/clusterroles/b', 'Delete', 'clusterroles', ''],
    ['GET', '/version', 'Get', '', ''],
    ['GET', '/apis/apps/v1', 'Get', '', ''],
    ['HEAD', '/api/v1/pods', 'Unknown', 'pods', ''],
  ])('%s %s', (method, path, verb, kind, namespace) => {
    expect(requestFacts(method, path)).toEqual({ verb, kind, namespace });
  });
});
