import { describe, expect, it } from '@jest/globals';
import { seededRandom, Shutdown } from '#base';
import { appKeyOf } from '#model';
import type { Application } from '#model';
import { silentLogger } from '#telemetry';
import { automaticParts, isFinerSplit } from '../distribution/parts.ts';
import { clusterOf } from '../testing/cluster.ts';
import { noMetrics } from '../testing/no-metrics.ts';
import { SimulatedHub } from '../testing/simulated-hub.ts';
import { MachineClock, VirtualTime } from '../testing/virtual-time.ts';
import { createOwnership } from './ownership.ts';
import type { Ownership } from './types.ts';

describe('the number of parts under auto', () => {
  it.each([
    ['one cluster, also with one replica, so that a scale-up splits nothing', 1, 1, 1, 12],
    ['two clusters', 2, 3, 1, 12],
    ['as many clusters as replicas', 3, 3, 1, 1],
    ['more replicas than clusters', 3, 4, 1, 12],
    ['many replicas', 5, 8, 12, 60],
    ['fewer replicas than before', 1, 2, 60, 60],
    ['clusters that are split, and not twice as many as replicas', 5, 3, 12, 12],
    ['clusters that are split, and twice as many as replicas', 6, 3, 12, 1],
    ['many clusters', 200, 10, 1, 1],
  ])('for %s', (_, clusters, replicas, current, parts) => {
    expect(automaticParts({ clusters, replicas, current })).toBe(parts);
  });

  it.each(Array.from({ length: 15 }, (_, i) => i + 1))('divides by %i within a quarter of the average', (replicas) => {
    const parts = automaticParts({ clusters: 1, replicas, current: 1 });
    expect(Math.ceil(parts / replicas)).toBeLessThanOrEqual((1.25 * parts) / replicas);
  });

  it('only splits parts that are split already', () => {
    expect([isFinerSplit(1, 12), isFinerSplit(12, 60), isFinerSplit(12, 12)]).toEqual([true, true, false]);
    expect([isFinerSplit(5, 12), isFinerSplit(12, 1), isFinerSplit(0, 12)]).toEqual([false, false, false]);
  });
});

const workload = 'argocd-application-controller';
const cluster = clusterOf('only');
const apps = Array.from(
  { length: 300 },
  (_, i) =>
    ({
      metadata: { namespace: 'argocd', name: `app-${i}` },
      spec: { destination: { server: cluster.server } },
    }) as unknown as Application,
);
const lookMs = 25;

interface Replica {
  readonly ownership: Ownership;
  /** Its caches are filled, or it came first. */
  isWarm: boolean;
  readonly leave: () => void;
}

/** Replicas of one cluster; each fills its caches in two seconds. */
class OneCluster {
  readonly time = new VirtualTime();
  readonly hub = new SimulatedHub(this.time, { latency: () => 5, fate: () => 'arrives' });
  readonly #random = seededRandom(5);
  readonly #unowned = new Map<string, number>();
  #replicas: readonly Replica[] = [];
  longestGapMs = 0;
  doubled = 0;
  cold = 0;

  scale(replicas: number): void {
    this.hub.put('StatefulSet', workload, { spec: { replicas } });
    for (const { leave } of this.#replicas.slice(replicas)) leave();
    const kept = this.#replicas.slice(0, replicas);
    const added = Array.from({ length: replicas - kept.length }, (_, i) => this.#start(kept.length + i));
    this.#replicas = [...kept, ...added];
  }

  #start(ordinal: number): Replica {
    const clock = new MachineClock(this.time, { rate: 1, skew: 0 });
    const ownership = createOwnership({
      client: this.hub.client({ clock, cutUntil: 0, cut: 'all' }),
      namespace: 'argocd',
      clock,
      random: this.#random,
      logger: silentLogger,
      metrics: noMetrics,
      algorithm: 'legacy',
      dynamic: false,
      hostname: `${workload}-${ordinal}`,
      replicas: 0,
      heartbeatMs: 10_000,
      controllerName: workload,
      prepares: true,
      defaultParts: 'auto',
    });
    const end = new AbortController();
    const replica = { ownership, isWarm: ordinal === 0, leave: () => end.abort(new Shutdown()) };
    const fill = (): void => {
      replica.isWarm = true;
      ownership.prepared([cluster.server]);
    };
    ownership.onChange(() => {
      if (ownership.gaining().size > 0) clock.timer(2000, fill);
    });
    void ownership.run(end.signal);
    clock.timer(100, () => ownership.update([cluster], apps));
    return replica;
  }

  #ownersOf(app: Application): readonly Replica[] {
    return this.#replicas.filter(({ ownership }) => ownership.ownsApp(appKeyOf(app), cluster));
  }

  async play(ms: number): Promise<void> {
    for (const end = this.time.now + ms; this.time.now < end;) {
      await this.time.play(this.time.now + lookMs, () => false);
      for (const app of apps) {
        const [key, owners] = [appKeyOf(app), this.#ownersOf(app)];
        if (owners.length > 1) this.doubled += 1;
        if (owners.some(({ isWarm }) => !isWarm)) this.cold += 1;
        if (owners.length === 0) this.#unowned.set(key, (this.#unowned.get(key) ?? 0) + lookMs);
        else this.#unowned.delete(key);
        this.longestGapMs = Math.max(this.longestGapMs, this.#unowned.get(key) ?? 0);
      }
    }
  }

  /** Applications of each replica. */
  shares(): readonly number[] {
    return this.#replicas.map(
      ({ ownership }) => apps.filter((app) => ownership.ownsApp(appKeyOf(app), cluster)).length,
    );
  }

  parts(): number | undefined {
    return this.#replicas[0]?.ownership.ownedParts(cluster.server)?.of;
  }

  end(): void {
    for (const { leave } of this.#replicas) leave();
  }
}

it('gives each replica of one cluster a share, and no Application is without an owner at a rescale', async () => {
  const fleet = new OneCluster();
  fleet.scale(1);
  await fleet.play(20_000);
  expect([fleet.parts(), ...fleet.shares()]).toEqual([12, 300]);
  for (const [replicas, parts, limitMs] of [
    [3, 12, 250],
    [8, 60, 250],
    // Six replicas end at once.
    [2, 60, 1000],
  ] as const) {
    fleet.longestGapMs = 0;
    fleet.scale(replicas);
    await fleet.play(40_000);
    expect(fleet.parts()).toBe(parts);
    const shares = fleet.shares();
    expect(shares.reduce((a, b) => a + b)).toBe(300);
    expect(Math.max(...shares)).toBeLessThan((1.35 * 300) / replicas);
    expect([replicas, fleet.longestGapMs < limitMs]).toEqual([replicas, true]);
  }
  expect([fleet.doubled, fleet.cold]).toEqual([0, 0]);
  fleet.end();
});
