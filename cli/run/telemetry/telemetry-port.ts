import type { Runnable } from '#base';
import { TelemetryServer } from '#telemetry';
import type { TelemetryServerOptions } from '#telemetry';

/** What the telemetry server of a process reports. */
export type TelemetrySource = Pick<TelemetryServerOptions, 'metrics' | 'healthy' | 'ready'>;

/**
 * The telemetry server of a process that waits before its replica starts. It answers from the first
 * second; the replica replaces what it reports.
 */
export class TelemetryPort implements Runnable {
  readonly name = 'telemetry port';
  readonly #server: TelemetryServer;
  #source: TelemetrySource;

  constructor({ metrics, healthy, ready, ...listening }: TelemetryServerOptions) {
    this.#source = { metrics, healthy, ready };
    this.#server = new TelemetryServer({
      ...listening,
      metrics: { chunks: () => this.#source.metrics.chunks(), expose: () => this.#source.metrics.expose() },
      healthy: () => this.#source.healthy(),
      ready: () => this.#source.ready(),
    });
  }

  ready(): Promise<void> {
    return this.#server.ready();
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#server.run(signal);
  }

  /** Reports `source` from now on. */
  report(source: TelemetrySource): void {
    this.#source = source;
  }
}
