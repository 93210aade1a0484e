import { clusterKey } from './parts.ts';
import type { Slots } from './slots-document.ts';

/** Events per second, by cluster. */
export type EventRates = ReadonlyMap<string, number>;

/** A rate over less time says little. */
const shortestMs = 60_000;
/** A report counts for this long after the last one: until the new owner of a cluster that was moved has measured it, too. */
const rememberedMs = 900_000;
/** Of all others the ConfigMap need not speak. */
const mostReported = 20;

interface Heard {
  readonly rate: number;
  readonly at: number;
}

/**
 * How busy clusters are, in live events per second. Only a cluster's owner can measure that, and whoever plans the table must know it of all:
 * so each replica reports its busiest clusters with its renewals (slots-document.ts), and remembers what others reported.
 *
 * Rates are powers of two, so that reports and tables do not change with each small change of a cluster. Times are monotonic milliseconds.
 */
export class EventRateBook {
  readonly #counted = new Map<string, { readonly total: number; readonly at: number }>();
  #own: EventRates = new Map();
  readonly #heard = new Map<string, Heard>();
  #known: EventRates = new Map();

  /** Counts since the start of each cluster's watch, of the clusters that this replica watches now. */
  measure(totals: ReadonlyMap<string, number>, now: number): void {
    const rates = new Map<string, number>();
    for (const [server, total] of totals) {
      const key = clusterKey(server);
      const last = this.#counted.get(key);
      const counts = last !== undefined && total >= last.total;
      if (counts && now - last.at < shortestMs) {
        rates.set(key, this.#own.get(key) ?? 0);
        continue;
      }
      this.#counted.set(key, { total, at: now });
      if (counts) rates.set(key, rounded((1000 * (total - last.total)) / (now - last.at)));
    }
    const watched = new Set([...totals.keys()].map(clusterKey));
    for (const key of this.#counted.keys()) if (!watched.has(key)) this.#counted.delete(key);
    const busiest = [...rates].filter(([, rate]) => rate > 0).sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
    this.#own = new Map(busiest.slice(0, mostReported));
  }

  /** What to report: the busiest of the own clusters. */
  own(): EventRates {
    return this.#own;
  }

  /** Takes note of everybody's reports, the own one included. The owners of a split cluster's parts all watch all of it. */
  hear(slots: Slots, now: number): void {
    for (const [server, rate] of reportedRates(slots)) this.#heard.set(server, { rate, at: now });
    for (const [server, { at }] of this.#heard) if (now - at > rememberedMs) this.#heard.delete(server);
    const known = new Map([...this.#heard].map(([server, { rate }]) => [server, rate]));
    if (!sameRates(known, this.#known)) this.#known = known;
  }

  /** The rates of all clusters, as far as they are known. The same object until one changes. */
  known(): EventRates {
    return this.#known;
  }
}

/** What the holders report now. */
export function reportedRates(slots: Slots): EventRates {
  const reported = new Map<string, number>();
  for (const { load = new Map<string, number>() } of slots.values())
    for (const [server, rate] of load) reported.set(server, Math.max(rate, reported.get(server) ?? 0));
  return reported;
}

/** To the nearest power of two; below one event a second: nothing. */
function rounded(rate: number): number {
  return rate < 1 ? 0 : 2 ** Math.round(Math.log2(rate));
}

function sameRates(a: EventRates, b: EventRates): boolean {
  return a.size === b.size && [...a].every(([server, rate]) => b.get(server) === rate);
}
