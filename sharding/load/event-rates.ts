import { clusterKey } from '../distribution/parts.ts';
import type { SlotHolders } from '../documents/slots-document.ts';

/** Events per second, by cluster. */
export type EventRates = ReadonlyMap<string, number>;

/** Shorter intervals give unreliable rates. */
const minMeasurementMs = 60_000;
/**
 * Reports stay valid this long, so that the new owner of a moved cluster has time to measure it.
 */
const reportValidMs = 900_000;
/** Bounds the size of the ConfigMap; quieter clusters are not reported. */
const maxReportedClusters = 20;

interface RateReport {
  readonly rate: number;
  readonly at: number;
}

/**
 * Live events per second of each cluster. Only an owner can measure them, but the planner needs
 * those of all clusters: each replica reports its busiest clusters with its renewals and remembers
 * the reports of others. Rates are powers of two, so that small changes do not change reports and
 * tables. Times are monotonic milliseconds.
 */
export class EventRateBook {
  readonly #counted = new Map<string, { readonly total: number; readonly at: number }>();
  #own: EventRates = new Map();
  readonly #heard = new Map<string, RateReport>();
  #known: EventRates = new Map();

  /**
   * Takes the number of events since each watch began, for the clusters that this replica watches.
   */
  measure(totals: ReadonlyMap<string, number>, now: number): void {
    const rates = new Map<string, number>();
    for (const [server, total] of totals) {
      const key = clusterKey(server);
      const last = this.#counted.get(key);
      const counts = last !== undefined && total >= last.total;
      if (counts && now - last.at < minMeasurementMs) {
        rates.set(key, this.#own.get(key) ?? 0);
        continue;
      }
      this.#counted.set(key, { total, at: now });
      if (counts) rates.set(key, roundRate((1000 * (total - last.total)) / (now - last.at)));
    }
    const watched = new Set([...totals.keys()].map(clusterKey));
    for (const key of this.#counted.keys()) if (!watched.has(key)) this.#counted.delete(key);
    const busiest = [...rates].filter(([, rate]) => rate > 0).sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
    this.#own = new Map(busiest.slice(0, maxReportedClusters));
  }

  /** The busiest clusters of this replica, to report. */
  own(): EventRates {
    return this.#own;
  }

  /**
   * Records the reports of all holders, including ours. All owners of a split cluster watch all of
   * it, so the highest rate counts.
   */
  recordReports(slots: SlotHolders, now: number): void {
    for (const [server, rate] of reportedRates(slots)) this.#heard.set(server, { rate, at: now });
    for (const [server, { at }] of this.#heard) if (now - at > reportValidMs) this.#heard.delete(server);
    const known = new Map([...this.#heard].map(([server, { rate }]) => [server, rate]));
    if (!sameRates(known, this.#known)) this.#known = known;
  }

  /** Known rates of all clusters. The same object until a rate changes. */
  known(): EventRates {
    return this.#known;
  }
}

/** The rates that holders report now. */
export function reportedRates(slots: SlotHolders): EventRates {
  const reported = new Map<string, number>();
  for (const { load = new Map<string, number>() } of slots.values())
    for (const [server, rate] of load) reported.set(server, Math.max(rate, reported.get(server) ?? 0));
  return reported;
}

/** Rounds to the nearest power of two; below one event per second to 0. */
function roundRate(rate: number): number {
  return rate < 1 ? 0 : 2 ** Math.round(Math.log2(rate));
}

function sameRates(a: EventRates, b: EventRates): boolean {
  return a.size === b.size && [...a].every(([server, rate]) => b.get(server) === rate);
}
