import { beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { omit, seededRandom, Superseded } from '#base';
import { apiResource } from '#kube';
import { appKey, keyOf } from '#model';
import type { KubeObject } from '#model';
import type { ApplyOptions } from '#sync';
import { FakeClock } from '#support';
import { ApplyGate } from './apply-gate.ts';
import type { GateQuestion } from './apply-gate.ts';
import { uncheckedCall, unpaced } from '../testing/pace.ts';
import { FakeApi } from '../testing/fake-api.ts';
import type { CallInterference } from '../testing/fake-api.ts';
import { GuardedWriter } from './writer.ts';

// The hash gate before server-side applies (decision D5), and the writer that uses it.

const { signal } = new AbortController();
const kinds = [apiResource('v1', 'ConfigMap', 'configmaps', 'namespaced')];
const how: ApplyOptions = { serverSide: true, force: false, replace: false, validate: true };
const app = appKey('argocd', 'demo');
const hour = 3_600_000;

function target(name: string, value = '1'): KubeObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'apps' }, data: { key: value } };
}

function ownersOf({ metadata }: KubeObject): readonly object[] {
  return 'managedFields' in metadata ? metadata.managedFields : [];
}

/** One cluster, the gate, and its decisions. */
class GateWorld {
  readonly clock = new FakeClock();
  readonly api = new FakeApi('https://c', kinds);
  /** 'hit', or the reason for a send. */
  readonly decisions: string[] = [];
  readonly gate = new ApplyGate({
    clock: this.clock,
    random: seededRandom(7),
    counts: { hit: () => void this.decisions.push('hit'), miss: (reason) => void this.decisions.push(reason) },
  });

  live(name: string): KubeObject | null {
    return this.api.get('ConfigMap', name) ?? null;
  }

  /** Changes the object as another client. */
  write(name: string, change: (object: KubeObject) => object): void {
    const object = this.live(name);
    if (object !== null) this.api.put({ ...object, ...change(object) });
  }

  writer(interference: CallInterference = {}, open = false, dryRun = false): GuardedWriter {
    const who = { app, server: 'https://c', user: undefined };
    return new GuardedWriter({
      cluster: { discovery: () => this.api.discovery, observe: () => undefined },
      client: this.api.client(interference),
      fenced: (inner, send) => send(uncheckedCall(inner)),
      denied: () => undefined,
      appOf: () => undefined,
      pace: unpaced,
      clock: this.clock,
      dryRun,
      ...(open
        ? {}
        : {
            gate: {
              ask: (sending) => this.gate.ask({ ...who, ...sending, differs: false }),
              merged: (sending, unchanged) => this.gate.merged({ ...sending, differs: false }, unchanged),
            },
          }),
    });
  }

  async apply(object: KubeObject, over: Partial<ApplyOptions> = {}, writer = this.writer()): Promise<string> {
    const live = this.live(object.metadata.name ?? '');
    const { message } = await writer.apply(object, live, { ...how, ...over }, signal);
    return message;
  }

  /** The gate's decision for applying the object once more. */
  async again(object: KubeObject, over: Partial<ApplyOptions> = {}): Promise<string> {
    this.decisions.length = 0;
    await this.apply(object, over);
    return this.decisions.join();
  }

  get sent(): readonly string[] {
    return this.api.calls.filter((call) => /^(?:patch|create|replace) /.test(call));
  }
}

let world: GateWorld;
beforeEach(() => {
  world = new GateWorld();
});

function ask(gate: ApplyGate, over: Partial<GateQuestion> = {}): boolean {
  const live = { ...target('a'), metadata: { ...target('a').metadata, uid: 'u', resourceVersion: '1' } };
  const question = { app, server: 'https://c', user: undefined, target: target('a'), live, how, differs: false };
  const answer = gate.ask({ ...question, ...over });
  if (!answer.unchanged) answer.learn(over.live ?? live);
  return answer.unchanged;
}

describe('objects unchanged since they were sent', () => {
  it('are not sent again, with the same message', async () => {
    const said = await world.apply(target('a'));
    expect(world.sent).toEqual(['patch ConfigMap a']);
    expect(await world.apply(target('a'))).toBe(said);
    expect(said).toBe('configmap/a serverside-applied');
    expect(world.sent).toHaveLength(1);
    expect(world.decisions).toEqual(['missing', 'hit']);
  });

  it('are sent when the comparison still finds a difference', () => {
    expect([ask(world.gate), ask(world.gate), ask(world.gate, { differs: true })]).toEqual([false, true, false]);
    expect(world.decisions).toEqual(['unknown', 'hit', 'differs']);
  });

  it('are sent by client-side apply if its three-way merge differs, with the reason', async () => {
    const client = { serverSide: false };
    await world.apply(target('a'), client);
    await world.apply(target('a'), client);
    world.write('a', () => ({ data: { key: 'by hand' } }));
    await world.apply(target('a'), client);
    expect(world.decisions).toEqual(['missing', 'hit', 'merge']);
    expect(world.sent).toEqual(['create ConfigMap a', 'patch ConfigMap a']);
  });
});

// T-SHA-1
describe('an entry comes only from a write that was answered', () => {
  const fails = (error: Error): CallInterference => ({
    before: () => {
      throw error;
    },
  });
  const lost: CallInterference = {
    after: () => {
      throw new Error('the connection was reset');
    },
  };
  it.each<[string, CallInterference, boolean]>([
    ['is refused', fails(new Error('admission webhook denied the request')), false],
    ['loses its response', lost, false],
    ['is cancelled', fails(new Superseded('a newer one')), false],
    ['is a dry run', {}, true],
    // T-SHA-1
  ])('not from one that %s: it is sent again', async (_, interference, dryRun) => {
    await world.apply(target('a'));
    const fresh = target('a', '2');
    await world.apply(fresh, {}, world.writer(interference, false, dryRun)).catch(() => undefined);
    expect(world.gate.size).toBe(dryRun ? 1 : 0);
    expect(await world.again(fresh)).toBe(dryRun ? 'manifest' : 'unknown');
    expect(await world.again(fresh)).toBe('hit');
    expect(world.live('a')).toMatchObject({ data: { key: '2' } });
  });

  // T-SHA-1
  it('not from a response without a UID or version', () => {
    const nameless = target('a');
    expect([ask(world.gate, { live: nameless }), ask(world.gate, { live: nameless })]).toEqual([false, false]);
    expect(world.gate.size).toBe(0);
  });
});

// T-SHA-2
describe('a change of the live object opens the gate', () => {
  beforeEach(async () => {
    await world.apply(target('a'));
  });

  it.each<[string, string, () => void]>([
    ['another value', 'drift', () => world.write('a', () => ({ data: { key: 'theirs' } }))],
    ['a field that no manifest contains', 'drift', () => world.write('a', () => ({ data: { key: '1', more: '2' } }))],
    ['a finalizer', 'drift', () => world.write('a', (o) => ({ metadata: { ...o.metadata, finalizers: ['x/y'] } }))],
    [
      'another owner of its fields',
      'drift',
      () =>
        world.write('a', (o) => ({
          metadata: { ...o.metadata, managedFields: [{ manager: 'theirs', operation: 'Apply', fieldsV1: {} }] },
        })),
    ],
    ['its deletion', 'missing', () => world.api.delete('ConfigMap', 'a')],
    [
      'another object of its name',
      'recreated',
      () => {
        world.api.delete('ConfigMap', 'a');
        world.api.put(target('a'));
      },
    ],
  ])('with %s', async (_, reason, happens) => {
    expect(await world.again(target('a'))).toBe('hit');
    happens();
    expect(await world.again(target('a'))).toBe(reason);
    expect(await world.again(target('a'))).toBe('hit');
  });

  // T-SHA-2
  it('except for its status and the fields that every write changes', async () => {
    world.write('a', (object) => ({
      status: { ready: true },
      metadata: {
        ...object.metadata,
        generation: 7,
        managedFields: [...ownersOf(object), { manager: 'kubelet', subresource: 'status', time: 'now' }],
      },
    }));
    expect(await world.again(target('a'))).toBe('hit');
  });
});

// T-SHA-3
describe('the hash covers everything that decides what is sent', () => {
  it.each<[string, Partial<GateQuestion>]>([
    ['the manifest', { target: target('a', '2') }],
    ['the version of its kind', { target: { ...target('a'), apiVersion: 'v2' } }],
    ['the cluster', { server: 'https://other' }],
    ['the impersonated user', { user: 'system:serviceaccount:apps:deployer' }],
    ['the manager whose fields it takes over', { how: { ...how, adoptFrom: 'kubectl-client-side-apply' } }],
    ['whether it is validated', { how: { ...how, validate: false } }],
    ['the kind of apply', { how: { ...how, serverSide: false } }],
  ])('including %s', (_, over) => {
    expect([ask(world.gate), ask(world.gate)]).toEqual([false, true]);
    expect(ask(world.gate, over)).toBe(false);
    expect(ask(world.gate, over)).toBe(true);
    expect(ask(world.gate)).toBe(false);
    expect(new Set(world.decisions)).toEqual(new Set(['unknown', 'hit', 'manifest']));
  });
});

/** Paths of all leaves. */
function leaves(value: unknown, path: readonly string[] = []): readonly (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return [path];
  return Object.entries(value).flatMap(([key, member]) => leaves(member, [...path, key]));
}

function changed<T>(value: T, [step, ...rest]: readonly string[]): T {
  if (step === undefined) return `${String(value)}, changed` as T;
  const members = value as Readonly<Record<string, unknown>>;
  const member = changed(members[step], rest);
  return (
    Array.isArray(value)
      ? value.map((old: unknown, i) => (String(i) === step ? member : old))
      : { ...members, [step]: member }
  ) as T;
}

const manifests = fc
  .record({
    spec: fc.dictionary(
      fc.constantFrom('a', 'b', 'replicas'),
      fc.oneof(fc.string(), fc.integer(), fc.array(fc.boolean())),
    ),
    status: fc.option(fc.record({ ready: fc.boolean() }), { nil: undefined }),
    finalizers: fc.option(fc.array(fc.string(), { minLength: 1, maxLength: 2 }), { nil: undefined }),
    ownerReferences: fc.option(
      fc.array(fc.record({ apiVersion: fc.string(), kind: fc.string(), name: fc.string(), uid: fc.string() }), {
        maxLength: 1,
      }),
      {
        nil: undefined,
      },
    ),
    labels: fc.option(fc.dictionary(fc.constantFrom('x', 'y'), fc.string()), { nil: undefined }),
    immutable: fc.option(fc.boolean(), { nil: undefined }),
  })
  .map(({ spec, status, immutable, ...metadata }): KubeObject => {
    const given = <T extends object>(members: T): T =>
      Object.fromEntries(Object.entries(members).filter(([, member]) => member !== undefined)) as T;
    const named = { ...given(metadata), name: 'a', namespace: 'apps' };
    return {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: named,
      ...given({ spec, status, immutable }),
    } as KubeObject;
  });

// T-SHA-4
it('every leaf that is sent is in the hash: changing one opens the gate, in the manifest and in the live object', () => {
  fc.assert(
    fc.property(manifests, fc.nat(), (manifest, which) => {
      const paths = leaves(manifest).filter(
        (path) =>
          !['apiVersion', 'kind', 'name', 'namespace'].includes(path.at(-1) ?? '') || path.includes('ownerReferences'),
      );
      const path = paths[which % Math.max(1, paths.length)];
      fc.pre(path !== undefined);
      const one = new GateWorld();
      const live = { ...manifest, metadata: { ...manifest.metadata, uid: 'u', resourceVersion: '1' } };
      const question = { target: manifest, live };
      expect([ask(one.gate, question), ask(one.gate, question)]).toEqual([false, true]);
      expect(ask(one.gate, { target: changed(manifest, path), live })).toBe(false);
      expect([ask(one.gate, question), ask(one.gate, question)]).toEqual([false, true]);
      expect(ask(one.gate, { target: manifest, live: changed(live, path) })).toBe(false);
    }),
  );
});

it.each<[string, Partial<ApplyOptions>, RegExp]>([
  ['force', { force: true }, /^patch/],
  ['replace', { replace: true }, /^replace/],
  ['replace with force', { replace: true, force: true }, /^create/],
  // T-SHA-5
])('%s bypasses the gate each time', async (_, over, call) => {
  await world.apply(target('a'));
  for (let time = 0; time < 2; time += 1) {
    const before = world.sent.length;
    expect(await world.again(target('a'), over)).toBe('forced');
    const sent = world.sent.slice(before);
    expect(sent.length).toBeGreaterThan(0);
    for (const one of sent) expect(one).toMatch(call);
  }
});

// T-SHA-6
it('entries expire at different times: objects sent together are not sent again together', async () => {
  const send = (name: string): boolean => {
    const live = { ...target(name), metadata: { name, namespace: 'apps', uid: name, resourceVersion: '1' } };
    return ask(world.gate, { target: target(name), live });
  };
  let names = Array.from({ length: 400 }, (_, i) => `m-${i}`);
  for (const name of names) send(name);
  world.decisions.length = 0;
  const expired: number[] = [];
  for (let step = 0; step < 50; step += 1) {
    await world.clock.advance(hour / 10);
    const kept = names.filter(send);
    expired.push(names.length - kept.length);
    // An object that was sent again has a new entry, which does not count.
    names = kept;
  }
  expect(names).toEqual([]);
  expect(new Set(world.decisions)).toEqual(new Set(['hit', 'expired']));
  const [first, last] = [expired.findIndex((count) => count > 0), expired.findLastIndex((count) => count > 0)];
  // The expiries spread over 0.6 of the mean lifetime, without a peak in any tenth of an hour.
  expect((last - first) / ((first + last) / 2)).toBeGreaterThan(0.55);
  expect(Math.max(...expired)).toBeLessThan(60);
});

/** Events that may happen between two syncs. */
const clusterEvents = fc.oneof(
  fc.record({ on: fc.constant('commit' as const), name: fc.constantFrom('a', 'b'), value: fc.constantFrom('1', '2') }),
  fc.record({
    on: fc.constant('write' as const),
    name: fc.constantFrom('a', 'b'),
    value: fc.constantFrom('1', '2', '3'),
  }),
  fc.record({ on: fc.constant('delete' as const), name: fc.constantFrom('a', 'b') }),
  fc.record({ on: fc.constant('replace' as const), name: fc.constantFrom('a', 'b') }),
  fc.record({
    on: fc.constant('fault' as const),
    name: fc.constantFrom('a', 'b'),
    moment: fc.constantFrom('before' as const, 'after' as const),
  }),
  fc.record({ on: fc.constant('lose' as const) }),
  fc.record({ on: fc.constant('wait' as const), hours: fc.integer({ min: 1, max: 4 }) }),
  fc.record({ on: fc.constant('sync' as const) }),
);

type ClusterEvent = typeof clusterEvents extends fc.Arbitrary<infer T> ? T : never;

/** A cluster that is synced with or without the gate. */
class SyncedCluster {
  readonly world = new GateWorld();
  readonly wanted = new Map([
    ['a', '1'],
    ['b', '1'],
  ]);
  readonly faults = new Map<string, 'before' | 'after'>();
  readonly open: boolean;

  constructor(open: boolean) {
    this.open = open;
  }

  async happen(event: ClusterEvent): Promise<void> {
    const { api, gate, clock } = this.world;
    if (event.on === 'commit') this.wanted.set(event.name, event.value);
    if (event.on === 'write') this.world.write(event.name, () => ({ data: { key: event.value } }));
    if (event.on === 'delete' || event.on === 'replace') api.delete('ConfigMap', event.name);
    if (event.on === 'replace') api.put(target(event.name, '3'));
    if (event.on === 'fault') this.faults.set(event.name, event.moment);
    if (event.on === 'lose') gate.forget(app);
    if (event.on === 'wait') await clock.advance(event.hours * hour);
    if (event.on === 'sync') await this.sync();
  }

  async sync(): Promise<void> {
    const fail = (moment: 'before' | 'after') => (call: string) => {
      if (this.faults.get(call.split(' ')[2] ?? '') === moment) throw new Error('no');
    };
    const writer = this.world.writer({ before: fail('before'), after: fail('after') }, this.open);
    for (const [name, value] of this.wanted)
      await writer.apply(target(name, value), this.world.live(name), how, signal).catch(() => undefined);
    this.faults.clear();
  }

  /** The content of the cluster after a last sync. */
  async end(): Promise<readonly unknown[]> {
    await this.sync();
    return [...this.world.api.objects.values()].map((object) => [keyOf(object), omit(object, 'metadata')]).sort();
  }
}

// T-SHA-8
it('after any events, and with the gate lost at any time, the cluster has the content it would have without the gate', async () => {
  let saved = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(clusterEvents, { maxLength: 25 }), async (history) => {
      const [gated, plain] = [new SyncedCluster(false), new SyncedCluster(true)];
      for (const event of history) {
        await gated.happen(event);
        await plain.happen(event);
      }
      expect(await gated.end()).toEqual(await plain.end());
      saved += plain.world.sent.length - gated.world.sent.length;
    }),
  );
  expect(saved).toBeGreaterThan(0);
});
