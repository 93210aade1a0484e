import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { KubeReadOnlyError } from './index.ts';
import type { KubeClient } from './index.ts';
import { clientFor, collect, configMaps, noSignal, object, ScriptedServer } from './testing/index.ts';

const at = { namespace: 'default', name: 'a' };
const options = { signal: noSignal };

/**
 * Every method of a client, by its effect in a process that only reads. The test below fails for a
 * method that is missing here.
 */
const methods: Readonly<Record<string, 'reads' | 'writes' | 'local'>> = {
  get: 'reads',
  list: 'reads',
  podLog: 'reads',
  watch: 'reads',
  discover: 'reads',
  openApiIndex: 'reads',
  openApiDocument: 'reads',
  version: 'reads',
  create: 'writes',
  replace: 'writes',
  patch: 'writes',
  delete: 'writes',
  mayList: 'writes',
  server: 'local',
  impersonate: 'local',
  updateCredentials: 'local',
  close: 'local',
};

const writes: Readonly<Record<string, (client: KubeClient) => Promise<unknown>>> = {
  create: (client) => client.create(configMaps, object('a', ''), options),
  'create of a subresource': (client) =>
    client.create(configMaps, object('a', ''), { ...options, subresource: 'scale' }),
  'create as a dry run': (client) => client.create(configMaps, object('a', ''), { ...options, dryRun: true }),
  replace: (client) => client.replace(configMaps, object('a', '1'), options),
  'replace of a subresource': (client) =>
    client.replace(configMaps, object('a', '1'), { ...options, subresource: 'status' }),
  'patch (merge)': (client) => client.patch(configMaps, at, { type: 'merge', body: {} }, options),
  'patch (json)': (client) => client.patch(configMaps, at, { type: 'json', body: [] }, options),
  'patch (strategic)': (client) => client.patch(configMaps, at, { type: 'strategic', body: {} }, options),
  'patch (apply)': (client) =>
    client.patch(configMaps, at, { type: 'apply', body: object('a', '') }, { ...options, fieldManager: 'm' }),
  delete: (client) => client.delete(configMaps, at, options),
  mayList: (client) => client.mayList(configMaps, undefined, options),
};

let server: ScriptedServer;
let client: KubeClient;

beforeEach(async () => {
  server = await ScriptedServer.start((turn) => {
    if (turn.query.get('watch') !== null) {
      turn.begin();
      turn.end();
    } else if (turn.path === '/version') turn.reply(200, { gitVersion: 'v1' });
    else if (turn.path.endsWith('/a')) turn.reply(200, object('a', '1') as never);
    else if (turn.path.endsWith('/configmaps')) turn.reply(200, { metadata: { resourceVersion: '1' }, items: [] });
    else turn.status(404, 'NotFound', 'none');
  });
  client = clientFor(server, { readOnly: true });
});
afterEach(async () => {
  await client.close();
  await server.close();
});

describe('a client that only reads', () => {
  it('has no method that is missing from the table', () => {
    const found = Object.getOwnPropertyNames(Object.getPrototypeOf(client)).filter((name) => name !== 'constructor');
    expect(found.sort()).toEqual(Object.keys(methods).sort());
    const covered = new Set(Object.keys(writes).map((name) => name.split(' ')[0]));
    expect(Object.keys(methods).filter((name) => methods[name] === 'writes' && !covered.has(name))).toEqual([]);
  });

  it.each(Object.keys(writes))('sends no %s, as itself or as another user', async (name) => {
    const refusal = expect.objectContaining({ code: 'KUBE_READ_ONLY', retry: 'never' }) as unknown;
    for (const each of [client, client.impersonate('someone'), client.impersonate('a').impersonate('b')]) {
      const answer = writes[name]!(each);
      await expect(answer).rejects.toEqual(refusal);
      await expect(answer).rejects.toBeInstanceOf(KubeReadOnlyError);
    }
    expect(server.turns).toEqual([]);
  });

  it('names the request that it did not send', async () => {
    await expect(client.delete(configMaps, at, options)).rejects.toThrow(
      `not sent, this process only reads: DELETE ${server.url}/api/v1/namespaces/default/configmaps/a`,
    );
  });

  it('reads like any other, and still rejects writes with new credentials', async () => {
    await client.get(configMaps, at, options);
    await client.impersonate('someone').list(configMaps, options);
    expect(await client.version(options)).toBe('v1');
    await expect(client.discover(options)).rejects.toThrow();
    await collect(client.watch(configMaps, { ...options, resourceVersion: '1' }));
    client.updateCredentials({ server: server.url, insecure: false, credentials: {} });
    await expect(writes['delete']!(client)).rejects.toBeInstanceOf(KubeReadOnlyError);
    expect(new Set(server.turns.map(({ method }) => method))).toEqual(new Set(['GET']));
    expect(server.turns.length).toBeGreaterThan(4);
  });

  it('is not the default', async () => {
    const other = clientFor(server);
    await other.patch(configMaps, at, { type: 'merge', body: {} }, options);
    expect(server.turns.map(({ method }) => method)).toEqual(['PATCH']);
    await other.close();
  });
});
