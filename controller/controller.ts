import { abortable, aborted, newAbortController, runGroups } from '#base';
import type { Runnable } from '#base';
import { appKeyOf, groupKindName, projectOf } from '#model';
import type { Application } from '#model';
import type { ClusterInfo, KindState } from '#live';
import { stallOf } from '#queues';
import type { Parts } from './parts.ts';
import type { AppSnapshot, Controller, ControllerSnapshot, WatchDeps } from './types.ts';

export interface ArgoControllerDeps extends Pick<WatchDeps, 'clock' | 'live' | 'logger' | 'ownership' | 'settings'> {
  readonly parts: Parts;
  /** Ended when everything has ended: what finished passes write may still go out before. */
  readonly persist: AbortController;
  /** How long running passes may take to finish after a stop. */
  readonly graceMs: number;
}

/** When nothing has moved for this long while work waits, something is wrong with this process. */
const stalledMs = 600_000;

/**
 * Queues, informers and pools: start order and stop order, nothing else. Informers are filled first; then the triggers share out ownership
 * and fill the queues; then the pools begin. A stop goes backwards: nothing new is taken, running passes end (within the grace period), and
 * what they have finished may still be written.
 */
export class ArgoController implements Controller {
  readonly name = 'controller';
  readonly #deps: ArgoControllerDeps;
  readonly #parts: Parts;
  readonly #started = newAbortController();

  constructor(deps: ArgoControllerDeps) {
    this.#deps = deps;
    this.#parts = deps.parts;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, graceMs, persist } = this.#deps;
    const { apps, projects, triggers, watchers, pools, queues } = this.#parts;
    const announce: Runnable = {
      name: 'controller started',
      run: (stop) => {
        this.#started.abort();
        return aborted(stop);
      },
    };
    const groups = [[apps, projects], [triggers], pools, [announce, ...watchers]];
    try {
      await runGroups(groups, signal, { clock, graceMs: graceMs + 5000 });
    } finally {
      for (const queue of queues) queue.shutDown();
      persist.abort(signal.reason);
    }
  }

  async ready(signal: AbortSignal): Promise<void> {
    await abortable(aborted(this.#started.signal), signal);
  }

  healthy(): { readonly ok: boolean; readonly reason?: string; readonly note?: string } {
    for (const pool of this.#parts.pools) {
      const reason = stallOf(pool.progress(), stalledMs);
      if (reason !== undefined) return { ok: false, reason: `${pool.name}: ${reason}` };
    }
    const note = this.#parts.loop.last();
    return { ok: true, ...(note === undefined ? {} : { note }) };
  }

  snapshot(): ControllerSnapshot {
    const clusters = this.#deps.live.infos();
    const { pools, queues } = this.#parts;
    return {
      ...this.#deps.ownership.identity(),
      applications: [...this.#parts.mine()].map((app) => this.#appSnapshot(app)),
      queues: pools.map((pool, i) => ({
        name: queues[i]?.name ?? pool.name,
        delayed: queues[i]?.delayed ?? 0,
        ...pool.progress(),
      })),
      clusters,
      degraded: clusters.flatMap((cluster) => kindsThat(isDegraded, cluster)),
      leftOut: clusters.flatMap((cluster) => kindsThat(({ state }) => state === 'left-out', cluster)),
    };
  }

  #appSnapshot(app: Application): AppSnapshot {
    const key = appKeyOf(app);
    const memory = this.#parts.memories.peek(key);
    const leaving = memory?.leaving === undefined ? undefined : { ...memory.leaving, until: 0 };
    const waiting = leaving ?? memory?.waiting;
    return {
      key,
      project: projectOf(app),
      cluster: this.#parts.guard.clusterOf(app)?.server ?? '',
      ...statusFacts(app),
      ...(memory?.lastRefresh === undefined ? {} : { lastRefresh: memory.lastRefresh }),
      ...(waiting === undefined ? {} : { waiting }),
      differences: memory?.differences ?? [],
    };
  }
}

function isDegraded({ state, message }: KindState): boolean {
  return state === 'degraded' || (state === 'synced' && message !== undefined);
}

function kindsThat(are: (kind: KindState) => boolean, { server, kinds }: ClusterInfo): readonly string[] {
  return kinds.filter(are).map((kind) => `${server} ${groupKindName(kind)}: ${kind.message ?? kind.state}`);
}

function statusFacts(
  app: Application,
): Omit<AppSnapshot, 'key' | 'project' | 'cluster' | 'lastRefresh' | 'waiting' | 'differences'> {
  const { sync, health, operationState, conditions = [] } = app.status ?? {};
  const operation = { phase: '' as const, message: '', ...operationState };
  return {
    sync: sync?.status ?? '',
    health: health?.status ?? '',
    healthMessage: health?.message ?? '',
    revision: sync?.revision ?? sync?.revisions?.join(',') ?? '',
    operation: operation.phase,
    operationMessage: operation.message,
    conditions: conditions.map(({ type, message }) => ({ type, message })),
  };
}
