import type { Clock } from '#base';
import { projectOf } from '#model';
import type { AppKey, Application } from '#model';
import type { ItemHandler, HandlerResult, WorkerSlot, TakenItem } from '#queues';
import type { CounterMetric, MetricLabels, MetricRegistry } from '#telemetry';
import type { RefreshRequest } from '../application/freshness.ts';
import { isStillPending, refreshAnnotation, withoutRefreshAnnotation } from '../application/refresh-annotation.ts';
import type { RefreshAnnotation } from '../application/refresh-annotation.ts';
import { waitOn } from '../comparison/memory.ts';
import type { AppMemories } from '../comparison/memory.ts';
import { msUntilToken, spendTokens } from '../admission/refresh-budget.ts';

export interface AskedRefreshesDeps {
  readonly lookup: (key: AppKey) => Application | undefined;
  /**
   * Whether its project exists and permits it. Other project names must not become metric labels.
   */
  readonly hasProject: (app: Application) => boolean;
  /** Whether this replica owns the Application. */
  readonly isMine: (app: Application) => boolean;
  readonly memories: Pick<AppMemories, 'note' | 'of' | 'peek'>;
  readonly clock: Clock;
  readonly metrics: MetricRegistry;
}

/**
 * Limits the refreshes that users request for one Application (`argocd.argoproj.io/refresh`): a
 * burst of thirty, then one every ten seconds. A request above the rate waits for a token. Passes
 * do not see it until then, so other reasons for a refresh are not delayed.
 *
 * Without the limit, a tenant in a loop keeps hard refreshes of all its Applications running, ahead
 * of every background refresh.
 */
export class AskedRefreshes {
  readonly #deps: AskedRefreshesDeps;
  readonly #delayed: CounterMetric;
  /** By namespace and project: the Applications that the series of `#delayed` counts. */
  readonly #delayedBy = new Map<string, Set<AppKey>>();

  constructor(deps: AskedRefreshesDeps) {
    this.#deps = deps;
    this.#delayed = deps.metrics.counter(
      'driftless_refresh_requests_delayed_total',
      'Requested refreshes that had to wait because their Application exceeded its rate limit',
      ['namespace', 'project'],
    );
    deps.metrics.dropWhen('driftless_refresh_requests_delayed_total', (labels) => this.#isDelayedByNone(labels));
  }

  /** How long the requested refresh must wait; 0: no wait, or no request. */
  delayMs(key: AppKey, app: Application): number {
    return refreshAnnotation(app) === undefined ? 0 : this.#msUntilToken(key);
  }

  /** The Application as passes see it: without a refresh request that has to wait. */
  view(key: AppKey): Application | undefined {
    const app = this.#deps.lookup(key);
    const isHidden = app !== undefined && this.#deps.memories.peek(key)?.asks?.isDelayed === true;
    return isHidden ? withoutRefreshAnnotation(app) : app;
  }

  /**
   * Adds the rate limit to the refresh handler, which must read Applications through {@link view}.
   */
  limited(inner: ItemHandler<AppKey, RefreshRequest>): ItemHandler<AppKey, RefreshRequest> {
    return (taken, signal, place) => this.#handle(inner, taken, signal, place);
  }

  async #handle(
    inner: ItemHandler<AppKey, RefreshRequest>,
    taken: TakenItem<AppKey, RefreshRequest>,
    signal: AbortSignal,
    place: WorkerSlot,
  ): Promise<HandlerResult<RefreshRequest>> {
    const { key } = taken;
    const app = this.#deps.lookup(key);
    const asked = app === undefined ? undefined : refreshAnnotation(app);
    if (app === undefined || asked === undefined) {
      this.#show(key);
      return inner(taken, signal, place);
    }
    const delayMs = this.#msUntilToken(key);
    if (delayMs > 0) {
      this.#hide(key, app, delayMs);
      const outcome = await inner(taken, signal, place);
      // Requeue when the token is due, or earlier if the pass asks for it.
      return outcome === 'done' || outcome.requeueAfterMs > delayMs
        ? { ...(outcome === 'done' ? {} : outcome), requeueAfterMs: delayMs }
        : outcome;
    }
    this.#spend(key, 1);
    const outcome = await inner(taken, signal, place);
    // The cluster or source was not ready: refund the token.
    if (outcome !== 'done' && this.#isPending(key, asked)) this.#spend(key, -1);
    return outcome;
  }

  #msUntilToken(key: AppKey): number {
    return msUntilToken(this.#deps.memories.peek(key)?.asks, this.#deps.clock.monotonic());
  }

  #spend(key: AppKey, tokens: number): void {
    const { memories, clock } = this.#deps;
    memories.note(key, { asks: spendTokens(memories.of(key).asks, clock.monotonic(), tokens) });
  }

  #show(key: AppKey): void {
    const asks = this.#deps.memories.peek(key)?.asks;
    if (asks?.isDelayed === true) this.#deps.memories.note(key, { asks: { ...asks, isDelayed: false } });
  }

  #hide(key: AppKey, app: Application, ms: number): void {
    const memory = this.#deps.memories.of(key);
    const { asks } = memory;
    if (asks === undefined || asks.isDelayed) return;
    const reason = { cause: 'rate limit', what: 'the rate limit of requested refreshes' } as const;
    const wait = waitOn(memory, reason, this.#deps.clock.now(), ms);
    this.#deps.memories.note(key, { asks: { ...asks, isDelayed: true }, ...wait });
    const labels = this.#labelsOf(app);
    const series = seriesOf(labels);
    this.#delayedBy.set(series, (this.#delayedBy.get(series) ?? new Set()).add(key));
    this.#delayed.inc(labels);
  }

  #labelsOf(app: Application): { readonly namespace: string; readonly project: string } {
    return { namespace: app.metadata.namespace ?? '', project: this.#deps.hasProject(app) ? projectOf(app) : '' };
  }

  /** Forgets the Applications that have left a series; it goes with the last one. */
  #isDelayedByNone(labels: MetricLabels): boolean {
    const series = seriesOf(labels);
    const keys = this.#delayedBy.get(series) ?? new Set();
    for (const key of keys) {
      const app = this.#deps.lookup(key);
      if (app !== undefined && this.#deps.isMine(app) && seriesOf(this.#labelsOf(app)) === series) return false;
      keys.delete(key);
    }
    this.#delayedBy.delete(series);
    return true;
  }

  /** Whether the same request is still pending. */
  #isPending(key: AppKey, asked: RefreshAnnotation): boolean {
    const app = this.#deps.lookup(key);
    return app !== undefined && isStillPending(asked, refreshAnnotation(app));
  }
}

function seriesOf({ namespace, project }: MetricLabels): string {
  return `${namespace} ${project}`;
}
