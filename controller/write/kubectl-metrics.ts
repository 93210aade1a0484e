import type { CounterMetric, MetricRegistry } from '#telemetry';

const kubectlCommands = ['apply', 'create', 'replace'] as const;

/** The kubectl command with which Argo CD would write an object. */
export type KubectlCommand = (typeof kubectlCommands)[number];

/**
 * Argo CD's counts of kubectl runs (controller/metrics/metrics.go): here, objects that are written,
 * and writes in flight. As in Argo CD, `_pending` counts the ones that run, not those that wait.
 */
export class KubectlMetrics {
  readonly #total: CounterMetric;
  readonly #hostname: string;
  readonly #running = new Map<KubectlCommand, number>();

  constructor(metrics: MetricRegistry, hostname: string) {
    this.#hostname = hostname;
    this.#total = metrics.counter('argocd_kubectl_exec_total', 'Number of kubectl executions', ['hostname', 'command']);
    for (const command of kubectlCommands) this.#total.inc({ hostname, command }, 0);
    metrics.family({
      name: 'argocd_kubectl_exec_pending',
      help: 'Number of pending kubectl executions',
      type: 'gauge',
      collect: () =>
        kubectlCommands.map((command) => ({ labels: { hostname, command }, value: this.#running.get(command) ?? 0 })),
    });
  }

  count(command: KubectlCommand): void {
    this.#total.inc({ hostname: this.#hostname, command });
  }

  async run<T>(command: KubectlCommand, send: () => Promise<T>): Promise<T> {
    this.#change(command, 1);
    try {
      return await send();
    } finally {
      this.#change(command, -1);
    }
  }

  #change(command: KubectlCommand, by: number): void {
    this.#running.set(command, (this.#running.get(command) ?? 0) + by);
  }
}
