import type { Clock, Runnable } from '#base';
import { formatGoDuration } from '#base';
import type { Logger } from './log.ts';
import type { PromMetrics } from './metrics.ts';

export interface MetricsUpkeepOptions {
  readonly metrics: Pick<PromMetrics, 'reset' | 'expose' | 'scrapedAt'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** `--metrics-cache-expiration` in milliseconds; 0 or less: never. */
  readonly expirationMs: number;
}

/** A replica without scrapes drops the series of gone Applications at this interval. */
const unscrapedMs = 600_000;

/**
 * Empties all metrics of Argo CD at an interval (`--metrics-cache-expiration`), and drops gone
 * series where no scrape does.
 */
export class MetricsUpkeep implements Runnable {
  readonly name = 'metrics upkeep';
  readonly #options: MetricsUpkeepOptions;

  constructor(options: MetricsUpkeepOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#expire(signal), this.#drop(signal)]);
  }

  async #expire(signal: AbortSignal): Promise<void> {
    const { metrics, clock, logger, expirationMs } = this.#options;
    if (expirationMs <= 0) return;
    for (;;) {
      await sleepUntilAborted(clock, expirationMs, signal);
      if (signal.aborted) return;
      logger.info(`Reset Prometheus metrics based on existing expiration '${formatGoDuration(expirationMs)}'`);
      metrics.reset((name) => name.startsWith('argocd_'));
    }
  }

  async #drop(signal: AbortSignal): Promise<void> {
    const { metrics, clock } = this.#options;
    for (;;) {
      await sleepUntilAborted(clock, unscrapedMs, signal);
      if (signal.aborted) return;
      if (metrics.scrapedAt !== undefined && clock.monotonic() - metrics.scrapedAt < unscrapedMs) continue;
      // Exposing drops the series; the text is not needed.
      await metrics.expose();
    }
  }
}

async function sleepUntilAborted(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  await clock.sleep(ms, signal).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
}
