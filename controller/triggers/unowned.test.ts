import { describe, expect, it } from '@jest/globals';
import { KubeApiError } from '#kube';
import type { Cluster, KubeObject } from '#model';
import { clusterKey } from '#sharding';
import { FakeClock } from '#support';
import { silentLogger } from '#telemetry';
import { UnownedWarnings } from './unowned.ts';
import type { UnownedWarningsDeps } from './unowned.ts';

interface PatchCall {
  readonly name: string;
  readonly body: { readonly metadata: object; readonly status: { readonly conditions: readonly object[] } };
}

function app(name: string, server: string, over: { namespace?: string; conditions?: object[] } = {}): KubeObject {
  const { namespace = 'argocd', conditions = [] } = over;
  return {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Application',
    metadata: { name, namespace, resourceVersion: `v-${name}` },
    spec: { destination: { server } },
    status: { conditions },
  } as unknown as KubeObject;
}

const other = { type: 'SyncError', message: 'old', lastTransitionTime: '2026-01-01T00:00:00Z' };
const marked = {
  type: 'UnownedClusterWarning',
  message: 'of a moment ago',
  lastTransitionTime: '2026-01-01T00:00:00Z',
};

interface UnownedWorld {
  readonly clock: FakeClock;
  readonly unowned: Map<string, number>;
  readonly patched: PatchCall[];
  readonly warnings: UnownedWarnings;
  readonly stop: () => Promise<void>;
}

function world(objects: readonly KubeObject[], onPatch: (name: string) => void = () => undefined): UnownedWorld {
  const clock = new FakeClock();
  const unowned = new Map<string, number>();
  const patched: PatchCall[] = [];
  const hub = {
    patch: (_resource: unknown, { name }: { name: string }, patch: { body: PatchCall['body'] }) => {
      patched.push({ name, body: patch.body });
      onPatch(name);
      return Promise.resolve({});
    },
  };
  const warnings = new UnownedWarnings({
    hub: hub as unknown as UnownedWarningsDeps['hub'],
    apps: { list: () => objects },
    ownership: {
      unowned: () => unowned,
      isUnowned: (key, cluster) => unowned.has(clusterKey(cluster.server)) && !key.endsWith('/attended'),
    },
    clusterOf: ({ spec }) => ({ server: spec.destination.server ?? '' }) as Cluster,
    isWanted: ({ metadata }) => metadata.namespace === 'argocd',
    clock,
    logger: silentLogger,
  });
  const end = new AbortController();
  const run = warnings.run(end.signal);
  const stop = (): Promise<void> => {
    end.abort();
    return run;
  };
  return { clock, unowned, patched, warnings, stop };
}

// T-SHARD-3
describe('UnownedWarnings', () => {
  it('knows for how long a hand-over lasts, also by the mark of another replica', async () => {
    const w = world([app('told', 'https://a', { conditions: [marked] })]);
    expect(w.warnings.unownedMs()).toBe(0);
    w.unowned.set('https://a', 70_000);
    expect(w.warnings.unownedMs()).toBe(70_000);
    await w.clock.advance(900_000);
    // The mark is as old as the clock.
    expect(w.warnings.unownedMs()).toBe(900_000);
    w.unowned.clear();
    await w.clock.advance(15_000);
    expect(w.warnings.unownedMs()).toBe(0);
    await w.stop();
  });

  it('marks the Applications of a cluster without an owner once, with a version check, and no others', async () => {
    const w = world([
      app('lost', 'https://a/', { conditions: [other] }),
      app('told', 'https://a', { conditions: [marked] }),
      app('well', 'https://b'),
      app('attended', 'https://a'),
      app('elsewhere', 'https://a', { namespace: 'not-ours' }),
    ]);
    await w.clock.advance(60_000);
    expect(w.patched).toEqual([]);
    w.unowned.set('https://a', 70_000);
    await w.clock.advance(15_000);
    expect(w.patched.map(({ name }) => name)).toEqual(['lost']);
    expect(w.patched[0]?.body.metadata).toEqual({ resourceVersion: 'v-lost' });
    expect(w.patched[0]?.body.status.conditions).toEqual([
      other,
      {
        type: 'UnownedClusterWarning',
        message: 'No replica of the application controller owns cluster "https://a/": this status is not updated',
        lastTransitionTime: '2026-01-01T00:01:15Z',
      },
    ]);
    await w.stop();
  });

  it('stops midway when the cluster gets an owner', async () => {
    const w = world([app('one', 'https://a'), app('two', 'https://a')], () => w.unowned.clear());
    w.unowned.set('https://a', 70_000);
    await w.clock.advance(60_000);
    expect(w.patched.map(({ name }) => name)).toEqual(['one']);
    await w.stop();
  });

  it('marks nothing by what it knew before it was frozen', async () => {
    const w = world([app('one', 'https://a')]);
    w.unowned.set('https://a', 70_000);
    await w.clock.advance(10_000);
    await w.clock.stall(75_000);
    await w.clock.settle();
    expect(w.patched).toEqual([]);
    w.unowned.clear();
    await w.clock.advance(60_000);
    w.unowned.set('https://a', 70_000);
    await w.clock.advance(15_000);
    expect(w.patched.map(({ name }) => name)).toEqual(['one']);
    await w.stop();
  });

  it('marks no other Application by what it knew before it was frozen in a write', async () => {
    const objects = ['one', 'two', 'three'].map((name) => app(name, 'https://a'));
    const w = world(objects, (name) => void (name === 'two' && w.clock.stall(75_000)));
    w.unowned.set('https://a', 70_000);
    await w.clock.advance(15_000);
    expect(w.patched.map(({ name }) => name)).toEqual(['one', 'two']);
    await w.stop();
  });

  it('continues with the others when one cannot be written', async () => {
    const w = world([app('one', 'https://a'), app('two', 'https://a')], (name) => {
      if (name === 'one') throw new KubeApiError({ code: 409, reason: 'Conflict', message: 'changed' }, 'patch');
    });
    w.unowned.set('https://a', 70_000);
    await w.clock.advance(15_000);
    expect(w.patched.map(({ name }) => name)).toEqual(['one', 'two']);
    await w.stop();
  });
});
