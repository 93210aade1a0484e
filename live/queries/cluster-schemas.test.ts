import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Json } from '#base';
import { silentLogger } from '#telemetry';
import { FakeClock } from '#support';
import { ClusterSchemas, SchemaStore } from './cluster-schemas.ts';

const document = (kind: string): Json => ({
  components: {
    schemas: {
      [kind]: { type: 'object', 'x-kubernetes-group-version-kind': [{ group: 'e.io', version: 'v1', kind }] },
    },
  },
});

/** A server that publishes schemas and records requests. */
class Server {
  readonly asked: string[] = [];
  hashes = new Map([
    ['apis/e.io/v1', 'H1'],
    ['api/v1', 'C1'],
  ]);
  kind = 'Widget';
  broken: 'index' | 'documents' | undefined;

  openApiIndex(): Promise<ReadonlyMap<string, string>> {
    this.asked.push('index');
    return this.broken === 'index' ? Promise.reject(new Error('no')) : Promise.resolve(new Map(this.hashes));
  }

  openApiDocument(path: string, hash: string): Promise<Json> {
    this.asked.push(`${path} ${hash}`);
    return this.broken === 'documents' ? Promise.reject(new Error('no')) : Promise.resolve(document(this.kind));
  }
}

const { signal } = new AbortController();
let clock: FakeClock;
let server: Server;
let schemas: ClusterSchemas;
const store = new SchemaStore();
const make = (shared = new SchemaStore()): ClusterSchemas =>
  new ClusterSchemas({ client: server, store: shared, clock, logger: silentLogger });
const kindsOf = async (...apiVersions: string[]): Promise<readonly string[]> => [
  ...(await schemas.of(apiVersions, signal)).kinds.keys(),
];

beforeEach(() => {
  clock = new FakeClock();
  server = new Server();
  schemas = make();
});
afterEach(() => clock.advance(0));

describe('the schemas that a cluster publishes', () => {
  it('are read on demand, and once', async () => {
    expect(server.asked).toEqual([]);
    expect(await kindsOf('e.io/v1', 'e.io/v1')).toEqual(['e.io/v1 Widget']);
    for (let i = 0; i < 5; i += 1) await kindsOf('e.io/v1');
    expect(server.asked).toEqual(['index', 'apis/e.io/v1 H1']);
    expect(await kindsOf('unknown.io/v1')).toEqual([]);
    expect(server.asked).toHaveLength(2);
  });

  it('are read once for concurrent passes', async () => {
    await Promise.all([kindsOf('e.io/v1'), kindsOf('e.io/v1'), kindsOf('e.io/v1')]);
    expect(server.asked).toEqual(['index', 'apis/e.io/v1 H1']);
  });

  it('are read again after a change of a CRD, but only documents with another hash', async () => {
    const { version } = await schemas.of(['e.io/v1', 'v1'], signal);
    server.hashes.set('apis/e.io/v1', 'H2');
    server.kind = 'Gadget';
    expect(await kindsOf('e.io/v1')).toEqual(['e.io/v1 Widget']);
    schemas.noteDefinitionChange();
    await clock.advance(1);
    expect(await kindsOf('e.io/v1')).toEqual(['e.io/v1 Gadget']);
    expect((await schemas.of(['e.io/v1', 'v1'], signal)).version).not.toBe(version);
    expect(server.asked.slice(3)).toEqual(['index', 'apis/e.io/v1 H2']);
  });

  it('are read once more in case the server publishes a change late', async () => {
    await kindsOf('e.io/v1');
    await clock.advance(1000);
    schemas.noteDefinitionChange();
    await clock.advance(1);
    await kindsOf('e.io/v1');
    server.hashes.set('apis/e.io/v1', 'H2');
    await clock.advance(20_000);
    await kindsOf('e.io/v1');
    await kindsOf('e.io/v1');
    expect(server.asked.filter((what) => what === 'index')).toHaveLength(3);
    expect(server.asked.at(-1)).toBe('apis/e.io/v1 H2');
  });

  it('block nothing if they cannot be read, and are retried later', async () => {
    server.broken = 'index';
    expect(await kindsOf('e.io/v1')).toEqual([]);
    expect(await kindsOf('e.io/v1')).toEqual([]);
    expect(server.asked).toEqual(['index']);
    server.broken = 'documents';
    await clock.advance(61_000);
    expect(await kindsOf('e.io/v1')).toEqual([]);
    expect(await kindsOf('e.io/v1')).toEqual([]);
    expect(server.asked).toEqual(['index', 'index', 'apis/e.io/v1 H1']);
    server.broken = undefined;
    await clock.advance(61_000);
    expect(await kindsOf('e.io/v1')).toEqual(['e.io/v1 Widget']);
  });

  // T-CACHE-2
  it.each([['index'], ['documents']] as const)(
    'are those that were known last for as long as the server answers 503 for its %s',
    async (broken) => {
      const known = await schemas.of(['e.io/v1'], signal);
      server.hashes.set('apis/e.io/v1', 'H2');
      server.kind = 'Gadget';
      server.broken = broken;
      for (let hour = 0; hour < 24; hour += 1) {
        schemas.noteDefinitionChange();
        await clock.advance(3_600_000);
        expect(await schemas.of(['e.io/v1'], signal)).toEqual(known);
      }
      server.broken = undefined;
      await clock.advance(61_000);
      expect(await kindsOf('e.io/v1')).toEqual(['e.io/v1 Gadget']);
    },
  );

  it('are shared by clusters that publish the same', async () => {
    schemas = make(store);
    const first = await schemas.of(['e.io/v1'], signal);
    schemas = make(store);
    const second = await schemas.of(['e.io/v1'], signal);
    expect(second.kinds.get('e.io/v1 Widget')).toBe(first.kinds.get('e.io/v1 Widget'));
    expect(server.asked).toEqual(['index', 'apis/e.io/v1 H1', 'index', 'apis/e.io/v1 H1']);
  });

  it('affect only their own cluster if its server lies about the hash of a document', async () => {
    server.kind = 'Gadget';
    schemas = make(store);
    const forged = await schemas.of(['e.io/v1'], signal);
    server.kind = 'Widget';
    schemas = make(store);
    const honest = await schemas.of(['e.io/v1'], signal);
    expect([...forged.kinds.keys(), ...honest.kinds.keys()]).toEqual(['e.io/v1 Gadget', 'e.io/v1 Widget']);
    expect(honest.version).not.toBe(forged.version);
  });

  it('reject if the caller aborts', async () => {
    const stop = new AbortController();
    stop.abort(new Error('gone'));
    await expect(schemas.of(['e.io/v1'], stop.signal)).rejects.toThrow('gone');
  });
});
