import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { valueAt, seededRandom, systemRandom } from '#base';
import type { JsonObject } from '#base';
import { eventually, FakeClock } from '#support';
import { kubeconfigFor, startSimCluster } from '../index.ts';
import type { SimCluster } from '../types.ts';
import { stringOrEmpty } from './fields.ts';
import { TestClient } from './test-client.ts';

const clock = new FakeClock();
let cluster: SimCluster;
let client: TestClient;
const maps = '/api/v1/namespaces/default/configmaps';

beforeEach(async () => {
  cluster = await startSimCluster({
    name: 'c',
    clock,
    random: seededRandom(3),
    workloads: { enabled: false, delayMs: 0 },
  });
  client = new TestClient(cluster.url);
});
afterEach(() => cluster.close());

function add(name: string): void {
  cluster.store.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'default' } });
}

describe('faults', () => {
  it.each([
    [401, 'Unauthorized'],
    [403, 'Forbidden'],
    [404, 'NotFound'],
    [409, 'Conflict'],
    [410, 'Expired'],
    [429, 'TooManyRequests'],
    [500, 'InternalError'],
    [503, 'ServiceUnavailable'],
  ] as const)('respond %d %s for the given number of times', async (code, reason) => {
    cluster.addFault({
      verb: 'list',
      resource: 'configmaps',
      times: 1,
      fault: { kind: 'status', code, retryAfterSeconds: 7 },
    });
    const { body, headers, code: got } = await client.get(maps);
    expect([got, body['reason'], headers['retry-after']]).toEqual([code, reason, '7']);
    expect((await client.get(maps)).code).toBe(200);
  });

  it('affect only the named client; listeners see every request with its client', async () => {
    const heard: string[] = [];
    const end = cluster.onRequest(({ verb, resource, name, agent }) =>
      heard.push(`${agent} ${verb} ${resource} ${name}`),
    );
    cluster.addFault({ agent: 'bad', fault: { kind: 'status', code: 500 } });
    add('a');
    const get = async (agent: string): Promise<number> =>
      (await fetch(`${cluster.url}${maps}/a`, { headers: { 'user-agent': agent } })).status;
    expect([await get('a bad one'), await get('another')]).toEqual([500, 200]);
    end();
    await get('unheard');
    expect(heard).toEqual(['a bad one get configmaps a', 'another get configmaps a']);
  });

  it('affect only matching requests, and end when removed', async () => {
    const end = cluster.addFault({ resource: 'configmaps', name: 'a', fault: { kind: 'status', code: 500 } });
    add('a');
    add('b');
    expect((await client.get(`${maps}/a`)).code).toBe(500);
    expect((await client.get(`${maps}/b`)).code).toBe(200);
    end();
    expect((await client.get(`${maps}/a`)).code).toBe(200);
  });

  it('delay by the clock', async () => {
    cluster.addFault({ verb: 'list', fault: { kind: 'latency', ms: 5000 } });
    let answered = false;
    const asked = client.get(maps).then(() => {
      answered = true;
    });
    await eventually(() => expect(clock.pending).toBe(1));
    expect(answered).toBe(false);
    await clock.advance(5000);
    await asked;
  });

  it('reset the connection, or hang until the server closes', async () => {
    cluster.addFault({ verb: 'get', fault: { kind: 'reset' } });
    cluster.addFault({ verb: 'list', fault: { kind: 'hang' } });
    await expect(client.get(`${maps}/a`)).rejects.toThrow(/ECONNRESET|hang up/);
    const hanging = client.get(maps);
    await eventually(() => expect(cluster.requests().get('list configmaps')).toBe(1));
    cluster.disconnect();
    await expect(hanging).rejects.toThrow();
  });

  it.each(['lostAnswer', 'halfAnswer'] as const)(
    'lose the answer to a write that was carried out: %s',
    async (kind) => {
      cluster.addFault({ verb: 'delete', resource: 'configmaps', times: 1, fault: { kind } });
      add('a');
      await expect(client.delete(`${maps}/a`)).rejects.toThrow();
      expect((await client.get(`${maps}/a`)).code).toBe(404);
    },
  );

  it('cut watches after a number of events, with or without an error', async () => {
    cluster.addFault({ verb: 'watch', times: 1, fault: { kind: 'cutWatch', afterEvents: 2, code: 410 } });
    const watch = await client.watch(
      `${maps}?watch=true&resourceVersion=1&fieldSelector=metadata.name!%3Dkube-root-ca.crt`,
    );
    for (const name of ['a', 'b', 'c']) add(name);
    await watch.ended;
    const types = watch.events.map((event) => (event as JsonObject)['type']);
    expect(types).toEqual(['ADDED', 'ADDED', 'ERROR']);
    expect(valueAt(watch.events[2] as JsonObject, 'object', 'code')).toBe(410);
    cluster.addFault({ verb: 'watch', times: 1, fault: { kind: 'cutWatch', afterEvents: 0 } });
    const cut = await client.watch(`${maps}?watch=true`);
    await cut.ended;
    expect(cut.events).toEqual([]);
  });

  it('lose and garble events of open watches', async () => {
    const { body } = await client.get(maps);
    const from = stringOrEmpty(valueAt(body, 'metadata', 'resourceVersion'));
    const watch = await client.watch(`${maps}?watch=true&resourceVersion=${from}`);
    cluster.addFault({ verb: 'watch', times: 1, fault: { kind: 'loseEvents' } });
    cluster.addFault({ verb: 'watch', times: 1, fault: { kind: 'badLine' } });
    for (const name of ['a', 'b', 'c']) add(name);
    await eventually(() => expect(watch.events).toHaveLength(2));
    expect(typeof watch.events[0]).toBe('string');
    expect(valueAt(watch.events[1] as JsonObject, 'object', 'metadata', 'name')).toBe('c');
    watch.close();
    cluster.addFault({ verb: 'get', fault: { kind: 'badLine' } });
    expect((await client.get(`${maps}/a`)).text).toBe('{"kind":"');
  });

  it('occur with the given probability', async () => {
    cluster.addFault({ verb: 'list', chance: 0.5, fault: { kind: 'status', code: 500 } });
    const codes = new Set<number>();
    for (let i = 0; i < 40; i += 1) codes.add((await client.get(maps)).code);
    expect([...codes].sort()).toEqual([200, 500]);
  });
});

describe('the server', () => {
  it('counts requests by verb and resource', async () => {
    add('a');
    await client.get(`${maps}/a`);
    await client.get(`${maps}/a`);
    await client.merge('/apis/apps/v1/namespaces/default/deployments/x/status', {});
    expect(cluster.requests().get('get configmaps')).toBe(2);
    expect(cluster.requests().get('patch deployments/status')).toBe(1);
  });

  it('accepts only known tokens', async () => {
    const guarded = await startSimCluster({ name: 'g', clock, random: systemRandom, tokens: ['let-me-in'] });
    try {
      const stranger = new TestClient(guarded.url);
      const refused = await stranger.get('/version');
      expect([refused.code, refused.body['reason']]).toEqual([401, 'Unauthorized']);
      expect((await stranger.get('/version', { headers: { Authorization: 'Bearer wrong' } })).code).toBe(401);
      expect((await stranger.get('/version', { headers: { Authorization: 'Bearer let-me-in' } })).code).toBe(200);
    } finally {
      await guarded.close();
    }
  });

  it('reports in one line that a port is taken', async () => {
    const port = Number(new URL(cluster.url).port);
    await expect(startSimCluster({ name: 'd', clock, random: systemRandom, port })).rejects.toThrow(
      `port ${port} of 127.0.0.1 is already in use: stop the process that listens there, or choose another port (0 takes any free one)`,
    );
  });

  it('rejects bodies over 3 MiB', async () => {
    const text = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"a":"${'x'.repeat(3 * 1024 * 1024)}"}}`;
    const { code, body } = await client.call('POST', maps, { text });
    expect([code, body['reason']]).toEqual([413, 'RequestEntityTooLarge']);
  });

  it('writes a kubeconfig with a context per cluster', () => {
    const yaml = kubeconfigFor([cluster, { ...cluster, name: 'other' }]);
    expect(yaml).toContain('current-context: c');
    expect(yaml).toContain(`server: ${cluster.url}`);
    expect(yaml).toContain('name: other');
  });
});
