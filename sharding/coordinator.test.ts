import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { OwnershipLost, Shutdown } from '#base';
import type { Application } from '#model';
import { createOwnership } from './ownership.ts';
import { slotsConfigMap } from './slots-document.ts';
import { clusterOf } from './testing/cluster.ts';
import { loneReplica } from './testing/lone-replica.ts';
import { SimulatedHub } from './testing/simulated-hub.ts';
import type { Line } from './testing/simulated-hub.ts';
import { MachineClock, VirtualTime } from './testing/virtual-time.ts';
import { timingOf } from './timing.ts';
import type { Ownership } from './types.ts';

const heartbeatMs = 10_000;
const { renewMs, validMs } = timingOf(heartbeatMs);
const cluster = clusterOf('a');
const { server } = cluster;

/** One replica on a machine and a line of its own. */
class Single {
  readonly time = new VirtualTime();
  readonly machine = new MachineClock(this.time, { rate: 1, skew: 0 });
  readonly hub = new SimulatedHub(this.time, { latency: () => 1, fate: () => 'arrives' });
  readonly line: Line = { clock: this.machine, cutUntil: 0, cut: 'all' };
  readonly client = this.hub.client(this.line);
  readonly ownership: Ownership;
  readonly #end = new AbortController();
  readonly #run: Promise<void>;

  constructor() {
    this.hub.put('StatefulSet', 'argocd-application-controller', { spec: { replicas: 1 } });
    this.ownership = createOwnership(loneReplica(this.client, this.machine, heartbeatMs));
    this.#run = this.ownership.run(this.#end.signal);
    this.ownership.update([cluster], [] as Application[]);
  }

  play(ms: number): Promise<void> {
    return this.time.play(this.time.now + ms, () => false);
  }

  /** The next write to the hub passes by here. */
  beforeNextWrite(act: () => void): void {
    const { replace } = this.client;
    this.client.replace = (...request) => {
      this.client.replace = replace;
      act();
      return replace(...request);
    };
  }

  /** Somebody else writes the slots, with nothing new in them: the version is another one. */
  touchSlots(): void {
    this.hub.put('ConfigMap', slotsConfigMap, { data: this.hub.get('ConfigMap', slotsConfigMap)?.['data'] });
  }

  async stop(): Promise<void> {
    this.#end.abort(new Shutdown());
    this.line.cutUntil = 0;
    await this.play(10_000);
    await this.#run;
  }
}

describe('13.6: what becomes of a write to the hub', () => {
  let single: Single;

  beforeEach(async () => {
    single = new Single();
    await single.play(10_000);
    single.ownership.assertOwns(server);
  });

  afterEach(() => single.stop());

  it('13.6: one that lost a race is tried again at once, upon what is there now', async () => {
    single.beforeNextWrite(() => single.touchSlots());
    await single.play(renewMs + 500);
    expect(single.ownership.leaseLeftMs()).toBeGreaterThan(validMs - renewMs);
  });

  it('13.6: renewals that lose every race renew nothing, and pause in between', async () => {
    const { replace } = single.client;
    let tries = 0;
    single.client.replace = (...request) => {
      tries += 1;
      single.touchSlots();
      return replace(...request);
    };
    await single.play(validMs);
    expect(single.ownership.leaseLeftMs()).toBe(0);
    expect(() => single.ownership.assertOwns(server)).toThrow(OwnershipLost);
    // Two reads and a write take 6 ms.
    expect(tries).toBeGreaterThan(50);
    expect(tries).toBeLessThan((validMs - renewMs) / 12);
    single.client.replace = replace;
  });

  it('13.4: a renewal that was answered after a suspend renews nothing, though somebody noticed that before the answer came', async () => {
    let thaw = Number.NaN;
    const refused: unknown[] = [];
    single.beforeNextWrite(() => {
      thaw = single.time.now + 60_000;
      single.machine.suspend(60_000);
      single.line.cut = 'writes';
      // It gets there, and nothing that comes after it.
      single.time.at(single.time.now + 2, () => (single.line.cutUntil = thaw + 60_000));
      // The first thing that runs on the machine.
      single.time.at(thaw, () => {
        void single.ownership
          .writing(server, undefined, async () => undefined)
          .catch((error: unknown) => refused.push(error));
      });
    });
    await single.play(renewMs + 60_000);
    expect(single.time.now).toBeGreaterThan(thaw);
    for (let ms = 0; ms < validMs; ms += 1000) {
      expect(single.ownership.leaseLeftMs()).toBe(0);
      await single.play(1000);
    }
    expect(refused).toEqual([expect.any(OwnershipLost)]);
  });
});
