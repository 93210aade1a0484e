import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { valueAt, deepEqual } from '#base';
import type { Json, JsonObject } from '#base';
import type { KubeObject } from '#model';
import type { KindDefinition } from '../types.ts';
import { createSchemaBook } from './book.ts';
import { OwnedFieldSet, showPath } from './fields/field-set.ts';
import { deploymentSample, kindIn, withChange } from './samples.ts';

const book = createSchemaBook();
const deployments = kindIn(book, 'Deployment');

class Server {
  live: KubeObject | undefined;
  readonly #kind: KindDefinition;
  #tick = 0;

  constructor(kind: KindDefinition = deployments) {
    this.#kind = kind;
  }

  apply(manager: string, config: KubeObject, force = false, subresource = ''): readonly string[] {
    this.#tick += 1;
    const how = { manager, subresource, time: this.#time(), force };
    const result = book.serverSideApply(this.#kind, this.live, config, how);
    if ('conflicts' in result) return result.conflicts.map(({ field, detail }) => `${detail} ${field}`);
    this.live = book.applyDefaults(this.#kind, result.object);
    return [];
  }

  update(manager: string, change: Json, subresource = ''): void {
    this.#tick += 1;
    const before = this.live;
    const wanted = book.applyDefaults(this.#kind, withChange(before ?? blank, change));
    this.live = book.trackUpdate(this.#kind, before, wanted, { manager, subresource, time: this.#time() });
  }

  /** The managedFields of one manager. */
  owned(manager: string, operation = 'Apply'): Json | undefined {
    return this.#entry(manager, operation)?.['fieldsV1'];
  }

  timeOf(manager: string): Json | undefined {
    return this.#entry(manager, 'Apply')?.['time'];
  }

  get managers(): readonly string[] {
    return (this.live?.metadata.managedFields ?? []).map(
      (entry) => `${entry['manager'] as string} ${entry['operation'] as string}`,
    );
  }

  get(...path: (string | number)[]): Json | undefined {
    return valueAt(this.live as unknown as Json, ...path);
  }

  #entry(manager: string, operation: string): JsonObject | undefined {
    return (this.live?.metadata.managedFields ?? []).find(
      (entry) => entry['manager'] === manager && entry['operation'] === operation,
    );
  }

  #time(): string {
    return `2024-01-01T00:00:${String(this.#tick).padStart(2, '0')}Z`;
  }
}

const blank = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'x', namespace: 'default' } };
/** Drops empty maps, which are fields of their own, so that unset parts do not count. */
const config = (spec: Record<string, Json>, metadata: Record<string, Json> = {}): KubeObject =>
  withChange(blank, { ...(Object.keys(spec).length === 0 ? {} : { spec }), metadata });
const inPod = (spec: Json): Record<string, Json> => ({ template: { spec } });

/** test/conformance/scenarios/apply.ts has the rules, with the answers of a real server. */
describe('a write without changes', () => {
  it('keeps the time of a manager without changes', () => {
    const server = new Server();
    server.apply('a', deploymentSample);
    const before = JSON.stringify(server.live);
    server.apply('a', deploymentSample);
    expect(JSON.stringify(server.live)).toBe(before);
    server.apply('a', withChange(deploymentSample, { spec: { replicas: 5 } }));
    expect(server.timeOf('a')).toBe('2024-01-01T00:00:03Z');
  });

  it('writes nothing if nothing changed', () => {
    const server = new Server();
    server.update('a', deploymentSample as unknown as Json);
    const before = JSON.stringify(server.live);
    server.update('b', {});
    expect(JSON.stringify(server.live)).toBe(before);
  });
});

it('merges the oldest of many updaters', () => {
  const server = new Server();
  server.update('m00', deploymentSample as unknown as Json);
  for (let i = 1; i <= 14; i += 1)
    server.update(`m${String(i).padStart(2, '0')}`, { metadata: { labels: { [`l${i}`]: 'x' } } });
  expect(server.managers).toHaveLength(10);
  expect(server.managers).toContain('ancient-changes Update');
  const all = OwnedFieldSet.fromFieldsV1(server.owned('ancient-changes', 'Update'));
  expect(all.has(['f:metadata', 'f:labels', 'f:l3'])).toBe(true);
});

describe('ownership of any configuration', () => {
  const keys = fc.constantFrom('a', 'b', 'c', 'd');
  const configs = fc.record({
    labels: fc.dictionary(keys, fc.constantFrom('1', '2')),
    env: fc.dictionary(keys, fc.constantFrom('1', '2')),
    replicas: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }),
  });
  type Config = typeof configs extends fc.Arbitrary<infer T> ? T : never;
  const build = ({ labels, env, replicas }: Config): KubeObject =>
    config(
      {
        ...(replicas === undefined ? {} : { replicas }),
        ...inPod({
          containers: [{ name: 'a', env: Object.entries(env).map(([name, value]) => ({ name, value })) }],
        }),
      },
      { labels },
    );
  const start = (): Server => {
    const server = new Server();
    server.update('creator', withChange(deploymentSample, { spec: { replicas: null } }) as unknown as Json);
    return server;
  };

  /**
   * An empty list is set and dropped on each apply; the server does not store a change of times
   * alone.
   */
  const timeless = (server: Server): Json =>
    JSON.parse(JSON.stringify(server.live, (key, value: unknown) => (key === 'time' ? undefined : value))) as Json;

  it('makes a second apply a no-op', () => {
    fc.assert(
      fc.property(configs, configs, (one, two) => {
        const server = start();
        server.apply('a', build(one), true);
        server.apply('b', build(two), true);
        const before = timeless(server);
        expect(server.apply('b', build(two))).toEqual([]);
        expect(deepEqual(timeless(server), before)).toBe(true);
      }),
    );
  });

  it('lets a forced apply win, and keeps the fields of others when everything is un-applied', () => {
    fc.assert(
      fc.property(configs, configs, (one, two) => {
        const server = start();
        server.apply('a', build(one), true);
        server.apply('b', build(two), true);
        expect(server.get('metadata', 'labels') ?? {}).toMatchObject(two.labels);
        const lost = Object.keys(one.labels).filter(
          (key) => two.labels[key] !== undefined && two.labels[key] !== one.labels[key],
        );
        server.apply('b', config({}));
        const left = Object.fromEntries(Object.entries(one.labels).filter(([key]) => !lost.includes(key)));
        expect(server.get('metadata', 'labels') ?? {}).toEqual(left);
        expect(server.managers.some((text) => text.startsWith('b '))).toBe(false);
      }),
    );
  });

  it('never conflicts for disjoint configurations, which both own their parts', () => {
    fc.assert(
      fc.property(configs, (one) => {
        const server = start();
        const mine = { ...one, replicas: undefined };
        expect(server.apply('a', build(mine))).toEqual([]);
        const other = config({}, { annotations: { k: 'v' } });
        expect(server.apply('b', other)).toEqual([]);
        for (const [key, value] of Object.entries(one.labels)) {
          expect(server.get('metadata', 'labels', key)).toBe(value);
          expect(OwnedFieldSet.fromFieldsV1(server.owned('a')).has(['f:metadata', 'f:labels', `f:${key}`])).toBe(true);
        }
        expect(server.owned('b')).toEqual({ 'f:metadata': { 'f:annotations': { 'f:k': {} } } });
      }),
    );
  });
});

describe('field sets', () => {
  const paths = fc.array(
    fc.array(fc.constantFrom('f:a', 'f:b', 'k:{"name":"x"}', 'v:1', 'i:0'), { minLength: 1, maxLength: 4 }),
  );
  const sets = paths.map((list) => OwnedFieldSet.of(...list));

  it('round-trip through their text', () => {
    fc.assert(fc.property(sets, (set) => expect(OwnedFieldSet.fromFieldsV1(set.toFieldsV1()).equals(set)).toBe(true)));
  });

  it('satisfy the laws of sets', () => {
    fc.assert(
      fc.property(sets, sets, (a, b) => {
        expect(a.union(b).equals(b.union(a))).toBe(true);
        expect(a.intersection(b).equals(b.intersection(a))).toBe(true);
        expect(a.difference(b).union(a.intersection(b)).equals(a)).toBe(true);
        expect(a.difference(b).intersection(b).isEmpty).toBe(true);
        expect(a.difference(a).isEmpty).toBe(true);
      }),
    );
  });

  it.each<[string[], string]>([
    [['f:spec', 'f:replicas'], '.spec.replicas'],
    [['f:c', 'k:{"containerPort":80,"protocol":"TCP"}', 'f:name'], '.c[containerPort=80,protocol="TCP"].name'],
    [['f:finalizers', 'v:"x"'], '.finalizers[="x"]'],
    [['f:l', 'i:3'], '.l[3]'],
  ])('show %j as %s', (path, text) => {
    expect(showPath(path)).toBe(text);
  });

  it('accept keys in any notation', () => {
    const set = OwnedFieldSet.fromFieldsV1({ 'f:c': { 'k:{"protocol":"TCP", "containerPort":80}': { '.': {} } } });
    expect(set.has(['f:c', 'k:{"containerPort":80,"protocol":"TCP"}'])).toBe(true);
  });
});
