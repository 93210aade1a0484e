import { expect, it } from '@jest/globals';
import { seededRandom, Shutdown } from '#base';
import type { RandomSource } from '#base';
import type { Application } from '#model';
import { silentLogger } from '#telemetry';
import { createOwnership } from './ownership.ts';
import { clusterOf } from '../testing/cluster.ts';
import { noMetrics } from '../testing/no-metrics.ts';
import { SimulatedHub } from '../testing/simulated-hub.ts';
import type { NetworkLine } from '../testing/simulated-hub.ts';
import { MachineClock, VirtualTime } from '../testing/virtual-time.ts';
import { timingOf } from '../timing/timing.ts';
import type { Ownership, OwnershipChange } from './types.ts';

const workload = 'argocd-application-controller';
const clusters = Array.from({ length: 120 }, (_, i) => clusterOf(`c${i}`));
const apps = clusters.map(
  ({ server, name }) =>
    ({ metadata: { namespace: 'argocd', name }, spec: { destination: { server } } }) as unknown as Application,
);

const heartbeatMs = 10_000;

interface BusyReplica {
  readonly ordinal: number;
  readonly ownership: Ownership;
  readonly clock: MachineClock;
  readonly leave: () => void;
  alive: boolean;
}

/** Replicas whose event loops are busy: every callback waits until the present turn is over. */
class BusyFleet {
  readonly time = new VirtualTime();
  readonly hub = new SimulatedHub(this.time, { latency: () => 5, fate: () => 'arrives' });
  replicas: readonly BusyReplica[] = [];
  readonly #turnMs: (ordinal: number) => number;
  readonly #random: RandomSource;
  readonly #owners = new Map<string, BusyReplica>();
  readonly violations: string[] = [];
  readonly #unownedSince = new Map<string, number>();
  longestUnownedMs = 0;

  constructor(turnMs: (ordinal: number) => number, seed = 7) {
    this.#random = seededRandom(seed);
    this.#turnMs = turnMs;
  }

  scale(replicas: number): void {
    this.hub.put('StatefulSet', workload, { spec: { replicas } });
    for (const { ordinal, leave } of this.replicas) if (ordinal >= replicas) leave();
    for (let ordinal = this.replicas.length; ordinal < replicas; ordinal += 1) this.#start(ordinal);
  }

  /** As a StatefulSet does: the highest ordinal first, the next one once its pod is ready. */
  async roll(replicas: number): Promise<void> {
    for (let ordinal = replicas - 1; ordinal >= 0; ordinal -= 1) {
      const old = this.replicas.find((replica) => replica.ordinal === ordinal);
      old?.leave();
      while (old?.alive === true) await this.play(100);
      await this.play(1500);
      this.#start(ordinal);
      await this.play(5000);
    }
  }

  #start(ordinal: number): void {
    const clock = new MachineClock(this.time, { rate: 1, skew: 0 });
    const line: NetworkLine = { clock, cutUntil: 0, cut: 'all' };
    const ownership = createOwnership({
      client: this.hub.client(line),
      namespace: 'argocd',
      clock,
      random: this.#random,
      logger: silentLogger,
      metrics: noMetrics,
      algorithm: 'consistent-hashing',
      dynamic: false,
      hostname: `${workload}-${ordinal}`,
      replicas: 0,
      heartbeatMs,
      controllerName: workload,
      prepares: true,
    });
    const end = new AbortController();
    const replica: BusyReplica = { ordinal, ownership, clock, leave: () => end.abort(new Shutdown()), alive: true };
    this.replicas = [...this.replicas, replica];
    ownership.onChange((change) => {
      this.#note(replica, change);
      const servers = [...ownership.gaining().keys()];
      if (servers.length > 0) clock.timer(2000, () => ownership.prepared([...ownership.gaining().keys()]));
    });
    void ownership.run(end.signal).then(() => {
      replica.alive = false;
      this.replicas = this.replicas.filter((each) => each !== replica);
    });
    clock.timer(100, () => ownership.update(clusters, apps));
    const turn = (): void => {
      if (!replica.alive) return;
      clock.stop(this.#turnMs(ordinal) * (0.5 + this.#random.next()));
      this.time.at(clock.stoppedUntil() + 1, turn);
    };
    this.time.at(this.time.now + 1000, turn);
  }

  async play(ms: number): Promise<void> {
    await this.time.play(this.time.now + ms, () => false);
  }

  #note(replica: BusyReplica, { gained, lost }: OwnershipChange): void {
    for (const server of lost) {
      this.#owners.delete(server);
      this.#unownedSince.set(server, this.time.now);
    }
    for (const server of gained) {
      if (this.#owners.has(server)) this.violations.push(server);
      this.#owners.set(server, replica);
      const since = this.#unownedSince.get(server) ?? this.time.now;
      this.longestUnownedMs = Math.max(this.longestUnownedMs, this.time.now - since);
      this.#unownedSince.delete(server);
    }
  }

  /** How long a cluster had no owner, also one that has none now. */
  longestGapMs(): number {
    return Math.max(this.longestUnownedMs, ...[...this.#unownedSince.values()].map((since) => this.time.now - since));
  }

  /** Number of clusters of each replica. */
  ownedBy(): readonly number[] {
    return this.replicas.map(({ ownership }) => clusters.filter(({ server }) => ownership.ownsCluster(server)).length);
  }

  end(): void {
    for (const { clock } of this.replicas) clock.off();
  }
}

it.each([
  ['idle', 10, 300],
  ['busy', 200, 1000],
])('a scale-up leaves no cluster of an %s fleet without an owner for a second', async (_how, turnMs, limitMs) => {
  const fleet = new BusyFleet(() => turnMs);
  fleet.scale(5);
  await fleet.play(20_000);
  expect(fleet.ownedBy()).toEqual(expect.not.arrayContaining([0]));
  fleet.longestUnownedMs = 0;
  fleet.scale(6);
  await fleet.play(30_000);
  expect(fleet.longestUnownedMs).toBeLessThan(limitMs);
  expect(fleet.violations).toEqual([]);
  expect(fleet.ownedBy().every((owned) => owned > 10)).toBe(true);
  expect(fleet.ownedBy().reduce((a, b) => a + b)).toBe(clusters.length);
  fleet.end();
});

/** A lease, three seconds for the hand-over, and what three turns of a replica take. */
const limitMs = (turnMs: number): number => timingOf(heartbeatMs).leaseMs + 3000 + 3 * turnMs;

it.each([
  ['an idle fleet', () => 10, [7]],
  ['a busy fleet', () => 500, [7, 9, 10]],
  ['a starved fleet', () => 1000, [6, 7, 8]],
  ['a fleet whose planner is busy', (ordinal: number) => (ordinal === 0 ? 2000 : 10), [7, 8]],
])('%s has no gap beyond a lease in a rolling restart together with a scale-down', async (_how, turnMs, seeds) => {
  for (const seed of seeds) {
    const fleet = new BusyFleet(turnMs, seed);
    fleet.scale(6);
    await fleet.play(60_000);
    fleet.longestUnownedMs = 0;
    fleet.scale(4);
    await fleet.roll(4);
    await fleet.play(60_000);
    expect(fleet.longestGapMs()).toBeLessThan(limitMs(turnMs(1)));
    expect(fleet.violations).toEqual([]);
    expect(fleet.ownedBy().reduce((a, b) => a + b)).toBe(clusters.length);
    fleet.end();
  }
});
