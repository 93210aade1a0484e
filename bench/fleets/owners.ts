import { systemClock } from '#base';
import type { Fleet } from './fleet.ts';

const pollMs = 50;

/**
 * Polls the replicas' own pages for the clusters that they own, and measures how long each cluster
 * had no owner. The resolution is one poll.
 */
export class OwnershipWitness {
  readonly #fleet: Fleet;
  readonly #clusters: readonly string[];
  readonly #unownedSince = new Map<string, number>();
  readonly #longest = new Map<string, number>();
  #owners: ReadonlyMap<string, string> = new Map();
  #isEnded = false;
  #polling: Promise<void> = Promise.resolve();

  constructor(fleet: Fleet, clusters: readonly string[]) {
    this.#fleet = fleet;
    this.#clusters = clusters;
  }

  start(): void {
    this.#polling = this.#poll();
  }

  async stop(): Promise<void> {
    this.#isEnded = true;
    await this.#polling;
  }

  /** Name of the replica that owned each cluster at the last poll. */
  owners(): ReadonlyMap<string, string> {
    return this.#owners;
  }

  /** Longest time without an owner since the last call; counts gaps that are not over. */
  takeLongestGapMs(): number {
    const now = systemClock.monotonic();
    const open = [...this.#unownedSince.values()].map((since) => now - since);
    const longest = Math.max(0, ...open, ...this.#longest.values());
    this.#longest.clear();
    return longest;
  }

  async #poll(): Promise<void> {
    while (!this.#isEnded) {
      // The answers differ by some milliseconds: a cluster that two of them name is in transit.
      const answers = await Promise.all(
        this.#fleet.replicas().map(async (replica) => [replica.name, await replica.owned()] as const),
      );
      this.#note(new Map(answers.flatMap(([replica, owned]) => owned.map((cluster) => [cluster, replica] as const))));
      await systemClock.sleep(pollMs);
    }
  }

  #note(owners: ReadonlyMap<string, string>): void {
    const now = systemClock.monotonic();
    this.#owners = owners;
    for (const cluster of this.#clusters) {
      const since = this.#unownedSince.get(cluster);
      if (!owners.has(cluster)) {
        if (since === undefined) this.#unownedSince.set(cluster, now);
      } else if (since !== undefined) {
        this.#unownedSince.delete(cluster);
        this.#longest.set(cluster, Math.max(this.#longest.get(cluster) ?? 0, now - since));
      }
    }
  }
}

/** Number of clusters whose owner differs. */
export function countMoved(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): number {
  return [...before].filter(([cluster, owner]) => after.get(cluster) !== owner).length;
}
