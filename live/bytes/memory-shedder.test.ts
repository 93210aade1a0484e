import { describe, expect, it } from '@jest/globals';
import { annotations, defaultSettings } from '#model';
import type { KubeObject } from '#model';
import { silentLogger } from '#telemetry';
import { createNodeReader } from '../objects/stored-node.ts';
import { NodeStore } from '../store/node-store.ts';
import { LiveBudget } from './live-budget.ts';
import type { LiveLimits } from './live-budget.ts';
import { MemoryShedder } from './memory-shedder.ts';

const kib = 1024;
const nodeOf = createNodeReader(defaultSettings, () => true);

function objectOf(kind: string, name: string, { tracked = false, text = '' } = {}): KubeObject {
  const id = `app:/${kind}:ns/${name}`;
  const noted = tracked ? { annotations: { [annotations.trackingId]: id } } : {};
  return {
    apiVersion: 'v1',
    kind,
    metadata: { name, namespace: 'ns', uid: `${kind}-${name}`, resourceVersion: '1', ...noted },
    data: { text },
  };
}

/** A cluster with a memory limit. */
class Cluster {
  readonly store = new NodeStore();
  readonly stopped = new Map<string, string>();
  readonly shedding: MemoryShedder;

  constructor(budget: LiveBudget) {
    const suspend = (kind: string, why: string): (() => boolean) => {
      this.stopped.set(kind, why);
      return () => true;
    };
    const kinds = { suspend };
    this.shedding = new MemoryShedder({ store: this.store, kinds, budget, logger: silentLogger });
  }

  put(kind: string, count: number, options: Parameters<typeof objectOf>[2] = {}): void {
    for (let i = 0; i < count; i += 1) this.store.put(nodeOf(objectOf(kind, `n${i}`, options)));
  }

  bodies(): number {
    return [...this.store.tracked()].filter(({ body }) => body !== undefined).length;
  }
}

/** Why a kind is kept without whole objects. */
const leanReason = /read one by one, .* took \d+ bytes: .* bytes; exclude kinds$/;

const small: LiveLimits = { clusterBytes: 512 * kib, totalBytes: 800 * kib };

describe('a cluster that takes more memory than its share', () => {
  it('first drops the bodies of its largest kind, and keeps all watches', () => {
    const cluster = new Cluster(new LiveBudget(small));
    cluster.put('Secret', 5, { tracked: true, text: 'x'.repeat(100) });
    cluster.put('ConfigMap', 100, { tracked: true, text: 'x'.repeat(10 * kib) });
    expect(cluster.stopped.size).toBe(0);
    expect(cluster.bodies()).toBe(5);
    expect(cluster.store.countOfKind('', 'ConfigMap')).toBe(100);
    expect(cluster.shedding.bodylessReason('/ConfigMap')).toMatch(leanReason);
    expect(cluster.shedding.bodylessReason('/Secret')).toBeUndefined();
    expect(cluster.shedding.bytes).toBeLessThan(small.clusterBytes);
  });

  it('keeps bodies again once it is small enough, without flapping at the limit', () => {
    const cluster = new Cluster(new LiveBudget(small));
    cluster.put('ConfigMap', 100, { tracked: true, text: 'x'.repeat(10 * kib) });
    const remove = (to: number): void => {
      for (const { key } of [...cluster.store.ofKind('', 'ConfigMap')].slice(to)) cluster.store.remove(key);
    };
    const dropped = cluster.shedding.bodylessReason('/ConfigMap');
    expect(dropped).toMatch(leanReason);
    remove(95);
    expect(cluster.shedding.bodylessReason('/ConfigMap')).toBe(dropped);
    remove(10);
    expect(cluster.shedding.bodylessReason('/ConfigMap')).toBeUndefined();
    expect(cluster.bodies()).toBe(0);
    cluster.put('ConfigMap', 10, { tracked: true, text: 'x'.repeat(10 * kib) });
    expect(cluster.bodies()).toBe(10);
  });

  it('does not keep bodies again while all clusters together are near their limit', () => {
    const budget = new LiveBudget({ clusterBytes: 512 * kib, totalBytes: 700 * kib });
    const [other, cluster] = [new Cluster(budget), new Cluster(budget)];
    other.put('Secret', 350);
    cluster.put('ConfigMap', 60, { tracked: true, text: 'x'.repeat(10 * kib) });
    expect(cluster.shedding.bodylessReason('/ConfigMap')).toMatch(leanReason);
    for (const { key } of [...cluster.store.ofKind('', 'ConfigMap')].slice(5)) cluster.store.remove(key);
    expect(cluster.shedding.bodylessReason('/ConfigMap')).toMatch(leanReason);
    for (const { key } of [...other.store.ofKind('', 'Secret')]) other.store.remove(key);
    cluster.put('ConfigMap', 6);
    for (const { key } of [...cluster.store.ofKind('', 'ConfigMap')].slice(5)) cluster.store.remove(key);
    expect(cluster.shedding.bodylessReason('/ConfigMap')).toBeUndefined();
  });

  it('suspends its largest kind if rows alone exceed the limit, with a message about kind, bytes and setting', () => {
    const cluster = new Cluster(new LiveBudget(small, 'do this'));
    cluster.put('Secret', 20);
    cluster.put('ConfigMap', 600);
    expect([...cluster.stopped.keys()]).toEqual(['/ConfigMap']);
    expect(cluster.stopped.get('/ConfigMap')).toMatch(
      /no longer watched, because its \d+ objects took \d+ bytes: .* bytes; do this\. Watching/,
    );
  });

  it('counts all kinds: many small kinds may exceed the limit', () => {
    const cluster = new Cluster(new LiveBudget(small));
    for (let kind = 0; kind < 60; kind += 1) cluster.put(`K${kind}`, 10);
    expect(cluster.stopped.size).toBeGreaterThan(0);
    expect(cluster.shedding.retainedBytes).toBeLessThan(small.clusterBytes);
  });

  it('counts an object that grows', () => {
    const cluster = new Cluster(new LiveBudget(small));
    for (let size = 1; size < 700; size += 6)
      cluster.put('ConfigMap', 1, { tracked: true, text: 'x'.repeat(size * kib) });
    expect(cluster.bodies()).toBe(0);
    expect(cluster.stopped.size).toBe(0);
  });

  it('does not affect other clusters', () => {
    const budget = new LiveBudget(small);
    const [hostile, other] = [new Cluster(budget), new Cluster(budget)];
    other.put('ConfigMap', 100, { tracked: true });
    hostile.put('ConfigMap', 2000);
    expect(hostile.stopped.size).toBe(1);
    expect(other.stopped.size).toBe(0);
    expect(other.bodies()).toBe(100);
  });

  it('sheds memory if it is the largest when all clusters exceed the common limit', () => {
    const budget = new LiveBudget({ clusterBytes: 700 * kib, totalBytes: 800 * kib });
    const [large, smaller] = [new Cluster(budget), new Cluster(budget)];
    large.put('ConfigMap', 500);
    smaller.put('ConfigMap', 400);
    expect(large.stopped.size).toBe(1);
    expect(smaller.stopped.size).toBe(0);
  });

  it('does not count removed rows and removed clusters', () => {
    const budget = new LiveBudget(small);
    const cluster = new Cluster(budget);
    cluster.put('ConfigMap', 100, { tracked: true, text: 'x'.repeat(kib) });
    for (const { key } of [...cluster.store.ofKind('', 'ConfigMap')]) cluster.store.remove(key);
    expect(budget.bytes).toBe(0);
    cluster.put('ConfigMap', 10);
    budget.remove(cluster.shedding);
    expect(budget.bytes).toBe(0);
  });
});
