import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { valueAt, deepEqual } from '#base';
import type { Json, JsonObject } from '#base';
import type { KubeObject } from '#model';
import type { KindDefinition } from '../types.ts';
import { createSchemaBook } from './book.ts';
import { OwnedFieldSet, showPath } from './fields/field-set.ts';
import * as samples from './samples.ts';
import { withChange, kindIn, widgetSample, widgetKind } from './samples.ts';

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

describe('server-side apply', () => {
  it('owns the applied fields, not the defaulted ones', () => {
    const server = new Server();
    expect(server.apply('a', samples.deploymentSample)).toEqual([]);
    expect(server.get('spec', 'strategy', 'type')).toBe('RollingUpdate');
    expect(server.owned('a')).toEqual({
      'f:spec': {
        'f:replicas': {},
        'f:selector': {},
        'f:template': {
          'f:metadata': { 'f:labels': { 'f:app': {} } },
          'f:spec': { 'f:containers': { 'k:{"name":"a"}': { '.': {}, 'f:image': {}, 'f:name': {} } } },
        },
      },
    });
  });

  it('conflicts if managers want different values, not if they want the same', () => {
    const server = new Server();
    server.apply('a', samples.deploymentSample);
    expect(server.apply('b', config({ replicas: 2 }))).toEqual(['"a" .spec.replicas']);
    expect(server.get('spec', 'replicas')).toBe(1);
    expect(server.apply('b', config({ replicas: 1 }))).toEqual([]);
    expect(server.owned('a')).toMatchObject({ 'f:spec': { 'f:replicas': {} } });
    expect(server.owned('b')).toEqual({ 'f:spec': { 'f:replicas': {} } });
  });

  it('treats an empty map as a field', () => {
    const server = new Server();
    server.apply('a', samples.deploymentSample);
    server.apply('b', withChange(blank, { spec: {} }));
    expect(server.owned('b')).toEqual({ 'f:spec': {} });
    server.apply('b', config({}));
    expect(server.get('spec', 'replicas')).toBe(1);
  });

  it('names an updater with its version in a conflict', () => {
    const server = new Server();
    server.update('kubectl-create', samples.deploymentSample as unknown as Json);
    expect(server.apply('b', config({ replicas: 2 }))).toEqual(['"kubectl-create" using apps/v1 .spec.replicas']);
  });

  it('takes the field from other managers with force', () => {
    const server = new Server();
    server.apply('a', samples.deploymentSample);
    expect(server.apply('b', config({ replicas: 2 }), true)).toEqual([]);
    expect(server.get('spec', 'replicas')).toBe(2);
    expect(valueAt(server.owned('a') ?? null, 'f:spec', 'f:replicas')).toBeUndefined();
  });

  it.each<[string, Record<string, Json>, Record<string, Json>, readonly (string | number)[], Json | undefined]>([
    ['a label', {}, { labels: { x: '1' } }, ['metadata', 'labels'], undefined],
    ['an annotation', {}, { annotations: { x: '1' } }, ['metadata', 'annotations'], undefined],
    [
      'a container',
      inPod({ containers: [{ name: 's', image: 'x' }] }),
      {},
      ['spec', 'template', 'spec', 'containers', 1],
      undefined,
    ],
    [
      'an env variable',
      inPod({ containers: [{ name: 'a', env: [{ name: 'E', value: '1' }] }] }),
      {},
      ['spec', 'template', 'spec', 'containers', 0, 'env'],
      undefined,
    ],
    [
      'an atomic list',
      inPod({ tolerations: [{ key: 'k', operator: 'Exists' }] }),
      {},
      ['spec', 'template', 'spec', 'tolerations'],
      undefined,
    ],
    ['a finalizer', {}, { finalizers: ['a.b/c'] }, ['metadata', 'finalizers'], undefined],
  ])('removes fields that the manager no longer applies: %s', (_what, spec, metadata, path, expected) => {
    const server = new Server();
    server.apply('a', samples.deploymentSample);
    expect(server.apply('b', config(spec, metadata))).toEqual([]);
    expect(server.get(...path)).toBeDefined();
    expect(server.apply('b', config({}))).toEqual([]);
    expect(server.get(...path)).toEqual(expected);
    expect(server.get('spec', 'template', 'spec', 'containers', 0, 'image')).toBe('nginx:1.25');
    expect(server.managers).toEqual(['a Apply']);
  });

  it('keeps fields that another manager owns too', () => {
    const server = new Server();
    server.apply('a', withChange(samples.deploymentSample, { metadata: { labels: { x: '1' } } }));
    server.apply('b', config({}, { labels: { x: '1' } }));
    server.apply('a', samples.deploymentSample);
    expect(server.get('metadata', 'labels')).toEqual({ x: '1' });
    server.apply('b', config({}));
    expect(server.get('metadata', 'labels')).toBeUndefined();
  });

  it('merges container ports by number and protocol, which defaults to TCP', () => {
    const server = new Server();
    const ports = (list: Json): KubeObject => config(inPod({ containers: [{ name: 'a', ports: list }] }));
    server.apply('a', samples.deploymentSample);
    server.apply('b', ports([{ containerPort: 53 }]));
    server.apply('c', ports([{ containerPort: 53, protocol: 'UDP' }]));
    expect(server.get('spec', 'template', 'spec', 'containers', 0, 'ports')).toEqual([
      { containerPort: 53, protocol: 'TCP' },
      { containerPort: 53, protocol: 'UDP' },
    ]);
  });

  it('keeps the order of the configuration and the positions of other items', () => {
    const server = new Server();
    const named = (...list: string[]): KubeObject =>
      config(inPod({ containers: list.map((name) => ({ name, image: 'x' })) }));
    server.apply('a', named('p', 'q', 'r'));
    server.apply('b', named('r', 'n', 'q'));
    const containers = server.get('spec', 'template', 'spec', 'containers') as readonly JsonObject[];
    expect(containers.map((item) => item['name'])).toEqual(['p', 'r', 'n', 'q']);
  });

  it('keeps the time of a manager without changes', () => {
    const server = new Server();
    server.apply('a', samples.deploymentSample);
    const before = JSON.stringify(server.live);
    server.apply('a', samples.deploymentSample);
    expect(JSON.stringify(server.live)).toBe(before);
    server.apply('a', withChange(samples.deploymentSample, { spec: { replicas: 5 } }));
    expect(server.timeOf('a')).toBe('2024-01-01T00:00:03Z');
  });

  it('assigns an untracked object to before-first-apply', () => {
    const server = new Server();
    server.live = book.applyDefaults(deployments, samples.deploymentSample);
    expect(server.apply('a', config({ replicas: 2 }))).toEqual(['"before-first-apply" using apps/v1 .spec.replicas']);
    expect(server.apply('a', config({ replicas: 1 }))).toEqual([]);
    expect(server.managers).toEqual(['a Apply', 'before-first-apply Update']);
  });

  it('lets kubectl take over the fields of client-side apply', () => {
    const last = JSON.stringify(samples.deploymentSample);
    const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': last };
    const server = new Server();
    server.update(
      'kubectl-client-side-apply',
      withChange(samples.deploymentSample, { metadata: { annotations } }) as unknown as Json,
    );
    expect(server.apply('other', withChange(samples.deploymentSample, { spec: { replicas: 3 } }))).toHaveLength(1);
    expect(server.apply('kubectl', withChange(samples.deploymentSample, { spec: { replicas: 3 } }))).toEqual([]);
    expect(server.get('spec', 'replicas')).toBe(3);
    const kept = server.live?.metadata.annotations?.['kubectl.kubernetes.io/last-applied-configuration'] ?? '';
    expect((JSON.parse(kept) as { spec: { replicas: number } }).spec.replicas).toBe(3);
  });

  it.each<[string, Json, RegExp]>([
    [
      'a field that does not exist',
      { spec: { foo: 1 } },
      /[(]default\/x; apps\/v1, Kind=Deployment[)]: [.]spec[.]foo: field not declared in schema/,
    ],
    [
      'an item twice',
      { spec: inPod({ containers: [{ name: 'a' }, { name: 'a' }] }) },
      /[.]spec[.]template[.]spec[.]containers: duplicate entries for key \[name="a"\]/,
    ],
  ])('rejects %s', (_what, change, text) => {
    expect(() => new Server().apply('a', withChange(blank, change))).toThrow(text);
  });

  it('lets an applier of status own only status', () => {
    const server = new Server();
    server.apply('a', samples.deploymentSample);
    server.apply('s', withChange(blank, { spec: { replicas: 9 }, status: { replicas: 1 } }), false, 'status');
    expect(server.owned('s')).toEqual({ 'f:status': { 'f:replicas': {} } });
  });
});

describe('server-side apply of custom resources', () => {
  it('merges by schema, or by value without one', () => {
    const server = new Server(widgetKind);
    const spec = (value: Json): KubeObject => withChange(widgetSample, { spec: value });
    server.apply('a', spec({ parts: [{ name: 'p', weight: 1 }], open: { x: { y: 1 }, list: [1] }, tags: ['t'] }));
    expect(server.apply('b', spec({ parts: [{ name: 'q', weight: 2 }], open: { x: { z: 2 } }, tags: ['u'] }))).toEqual(
      [],
    );
    expect(server.get('spec')).toMatchObject({
      parts: [
        { name: 'p', weight: 1 },
        { name: 'q', weight: 2 },
      ],
      open: { x: { y: 1, z: 2 }, list: [1] },
      tags: ['t', 'u'],
    });
    expect(server.apply('b', spec({ open: { list: [2] } }))).toEqual(['"a" .spec.open.list']);
    expect(valueAt(server.owned('b') ?? null, 'f:spec', 'f:tags')).toEqual({ 'v:"u"': {} });
  });

  it('keeps the rest of the metadata when an applier gives up its last label', () => {
    const server = new Server(widgetKind);
    server.apply(
      'a',
      withChange(widgetSample, { metadata: { name: widgetSample.metadata.name ?? '', labels: { x: 'y' } } }),
    );
    const { live } = server;
    if (live === undefined) throw new Error('nothing was applied');
    server.live = { ...live, metadata: { ...live.metadata, uid: '1', resourceVersion: '2' } };
    server.apply('a', withChange(widgetSample, {}));
    expect(server.get('metadata')).toMatchObject({ uid: '1', resourceVersion: '2' });
    expect(server.get('metadata', 'labels')).toBeUndefined();
  });

  it('works without any schema', () => {
    const loose = Object.fromEntries(Object.entries(widgetKind).filter(([key]) => key !== 'schema'));
    const server = new Server(loose as unknown as KindDefinition);
    server.apply('a', withChange(widgetSample, { spec: { free: { a: 1 } } }));
    server.apply('b', withChange(widgetSample, { spec: { free: { b: 1 } } }));
    expect(server.get('spec', 'free')).toEqual({ a: 1, b: 1 });
    server.apply('a', withChange(widgetSample, {}));
    expect(server.get('spec', 'free')).toEqual({ b: 1 });
  });
});

describe('tracking of other writes', () => {
  it('lets a creator own the whole object, defaults included', () => {
    const server = new Server();
    server.update('kubectl-create', samples.deploymentSample as unknown as Json);
    expect(server.owned('kubectl-create', 'Update')).toMatchObject({
      'f:spec': {
        'f:progressDeadlineSeconds': {},
        'f:strategy': { 'f:rollingUpdate': { '.': {}, 'f:maxSurge': {} }, 'f:type': {} },
        'f:template': {
          'f:metadata': { 'f:labels': { '.': {}, 'f:app': {} } },
          'f:spec': { 'f:containers': { 'k:{"name":"a"}': { '.': {}, 'f:imagePullPolicy': {}, 'f:resources': {} } } },
        },
      },
    });
    expect(valueAt(server.owned('kubectl-create', 'Update') ?? null, 'f:metadata')).toBeUndefined();
  });

  it('moves a changed field to the manager of the change', () => {
    const server = new Server();
    server.apply('a', samples.deploymentSample);
    server.update('kubectl-scale', { spec: { replicas: 4 } });
    expect(valueAt(server.owned('a') ?? null, 'f:spec', 'f:replicas')).toBeUndefined();
    expect(server.owned('kubectl-scale', 'Update')).toEqual({ 'f:spec': { 'f:replicas': {} } });
    expect(server.apply('a', samples.deploymentSample)).toEqual(['"kubectl-scale" using apps/v1 .spec.replicas']);
  });

  it('leaves a removed field without owner', () => {
    const server = new Server();
    server.apply('a', withChange(samples.deploymentSample, { metadata: { labels: { x: '1' } } }));
    server.update('b', { metadata: { labels: null } });
    expect(valueAt(server.owned('a') ?? null, 'f:metadata')).toBeUndefined();
    expect(server.managers).toEqual(['a Apply']);
  });

  it('tracks status separately, with its subresource', () => {
    const server = new Server();
    server.update('a', samples.deploymentSample as unknown as Json);
    server.update('controller', { status: { replicas: 1 } }, 'status');
    expect(server.live?.metadata.managedFields?.at(-1)).toMatchObject({
      manager: 'controller',
      subresource: 'status',
      fieldsV1: { 'f:status': { 'f:replicas': {} } },
    });
  });

  it('writes nothing if nothing changed', () => {
    const server = new Server();
    server.update('a', samples.deploymentSample as unknown as Json);
    const before = JSON.stringify(server.live);
    server.update('b', {});
    expect(JSON.stringify(server.live)).toBe(before);
  });

  it('clears all managers by an empty entry, and keeps an untracked object untracked', () => {
    const server = new Server();
    server.update('a', samples.deploymentSample as unknown as Json);
    server.update('a', { metadata: { managedFields: [{}] } });
    expect(server.managers).toEqual([]);
    server.update('b', { spec: { replicas: 7 } });
    expect(server.managers).toEqual([]);
  });

  it('lets a client rewrite the managers', () => {
    const server = new Server();
    server.update('a', samples.deploymentSample as unknown as Json);
    const [entry] = server.live?.metadata.managedFields ?? [];
    server.update('kubectl', { metadata: { managedFields: [{ ...entry, manager: 'new', operation: 'Apply' }] } });
    expect(server.managers).toEqual(['new Apply']);
  });

  it('merges the oldest of many updaters', () => {
    const server = new Server();
    server.update('m00', samples.deploymentSample as unknown as Json);
    for (let i = 1; i <= 14; i += 1)
      server.update(`m${String(i).padStart(2, '0')}`, { metadata: { labels: { [`l${i}`]: 'x' } } });
    expect(server.managers).toHaveLength(10);
    expect(server.managers).toContain('ancient-changes Update');
    const all = OwnedFieldSet.fromFieldsV1(server.owned('ancient-changes', 'Update'));
    expect(all.has(['f:metadata', 'f:labels', 'f:l3'])).toBe(true);
  });
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
    server.update('creator', withChange(samples.deploymentSample, { spec: { replicas: null } }) as unknown as Json);
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

describe('an empty part that the server fills', () => {
  it('stays at each further apply', () => {
    const server = new Server(kindIn(book, 'StatefulSet'));
    const wanted = withChange(samples.statefulSetSample, { spec: { ordinals: {} } });
    for (let i = 0; i < 3; i += 1) {
      expect(server.apply('a', wanted)).toEqual([]);
      expect(server.get('spec', 'ordinals')).toEqual({ start: 0 });
    }
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
