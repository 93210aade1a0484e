import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Json } from '#base';
import { silentLogger } from '#telemetry';
import { FakeClock } from '#support';
import { ClusterSchemas, SchemaStore } from './schemas.ts';

const document = (kind: string): Json => ({
  components: {
    schemas: {
      [kind]: { type: 'object', 'x-kubernetes-group-version-kind': [{ group: 'e.io', version: 'v1', kind }] },
    },
  },
});

/** A server that publishes schemas, and counts who asks. */
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

describe('12.1: the schemas that a cluster publishes', () => {
  it('12.1: are read when they are asked for, and then no more', async () => {
    expect(server.asked).toEqual([]);
    expect(await kindsOf('e.io/v1', 'e.io/v1')).toEqual(['e.io/v1 Widget']);
    for (let i = 0; i < 5; i += 1) await kindsOf('e.io/v1');
    expect(server.asked).toEqual(['index', 'apis/e.io/v1 H1']);
    expect(await kindsOf('unknown.io/v1')).toEqual([]);
    expect(server.asked).toHaveLength(2);
  });

  it('12.1: are read once by all passes that want them at the same time', async () => {
    await Promise.all([kindsOf('e.io/v1'), kindsOf('e.io/v1'), kindsOf('e.io/v1')]);
    expect(server.asked).toEqual(['index', 'apis/e.io/v1 H1']);
  });

  it('12.1: are read again when a CRD has changed, and only the document whose hash is another', async () => {
    const { version } = await schemas.of(['e.io/v1', 'v1'], signal);
    server.hashes.set('apis/e.io/v1', 'H2');
    server.kind = 'Gadget';
    expect(await kindsOf('e.io/v1')).toEqual(['e.io/v1 Widget']);
    schemas.changed();
    await clock.advance(1);
    expect(await kindsOf('e.io/v1')).toEqual(['e.io/v1 Gadget']);
    expect((await schemas.of(['e.io/v1', 'v1'], signal)).version).not.toBe(version);
    expect(server.asked.slice(3)).toEqual(['index', 'apis/e.io/v1 H2']);
  });

  it('12.1: a server that publishes a change late is asked once more', async () => {
    await kindsOf('e.io/v1');
    await clock.advance(1000);
    schemas.changed();
    await clock.advance(1);
    await kindsOf('e.io/v1');
    server.hashes.set('apis/e.io/v1', 'H2');
    await clock.advance(20_000);
    await kindsOf('e.io/v1');
    await kindsOf('e.io/v1');
    expect(server.asked.filter((what) => what === 'index')).toHaveLength(3);
    expect(server.asked.at(-1)).toBe('apis/e.io/v1 H2');
  });

  it('12.1: that cannot be read hold nothing up, and are asked for again after a while', async () => {
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

  it.each([['index'], ['documents']] as const)(
    'T-CACHE-2: are those that were known last for as long as the server answers 503 for its %s',
    async (broken) => {
      const known = await schemas.of(['e.io/v1'], signal);
      server.hashes.set('apis/e.io/v1', 'H2');
      server.kind = 'Gadget';
      server.broken = broken;
      for (let hour = 0; hour < 24; hour += 1) {
        schemas.changed();
        await clock.advance(3_600_000);
        expect(await schemas.of(['e.io/v1'], signal)).toEqual(known);
      }
      server.broken = undefined;
      await clock.advance(61_000);
      expect(await kindsOf('e.io/v1')).toEqual(['e.io/v1 Gadget']);
    },
  );

  it('12.1: are shared by clusters that publish the same', async () => {
    schemas = make(store);
    const first = await schemas.of(['e.io/v1'], signal);
    schemas = make(store);
    const second = await schemas.of(['e.io/v1'], signal);
    expect(second.kinds.get('e.io/v1 Widget')).toBe(first.kinds.get('e.io/v1 Widget'));
    expect(server.asked).toEqual(['index', 'apis/e.io/v1 H1', 'index']);
  });

  it('12.1: who gives up gets nothing', async () => {
    const stop = new AbortController();
    stop.abort(new Error('gone'));
    await expect(schemas.of(['e.io/v1'], stop.signal)).rejects.toThrow('gone');
  });
});
