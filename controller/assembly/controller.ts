import { abortable, untilAborted, defined, newAbortController, runGroups, Shutdown } from '#base';
import type { ClockTimer, Runnable } from '#base';
import { appKeyOf, groupKindName, projectOf } from '#model';
import type { Application } from '#model';
import type { ClusterInfo, KindState } from '#live';
import { describeStall } from '#queues';
import type { ControllerReport } from '../report/controller-report.ts';
import type { PassRecord } from '../report/activity.ts';
import { lastWritesMs } from './parts.ts';
import type { ControllerParts } from './parts.ts';
import type { AppSnapshot, Controller, ControllerSnapshot, WatchDeps } from './types.ts';

export interface ArgoControllerDeps extends Pick<WatchDeps, 'clock' | 'live' | 'logger' | 'ownership' | 'settings'> {
  readonly parts: ControllerParts;
  /** Aborted after the passes, so that they can still write their results. */
  readonly persist: AbortController;
  /** How long running passes may take to finish after a stop. */
  readonly graceMs: number;
}

/** No progress for this long while work waits means that this process is stuck. */
const poolStalledMs = 600_000;

/**
 * Starts and stops queues, informers and pools in order. Fills the informers first, then lets the
 * triggers assign ownership and fill the queues, then starts the pools. Stops in reverse: takes no
 * new work, lets running passes finish within the grace period, and lets them write their results
 * for a little longer.
 */
export class ArgoController implements Controller {
  readonly name = 'controller';
  readonly #deps: ArgoControllerDeps;
  readonly #parts: ControllerParts;
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
        return untilAborted(stop);
      },
    };
    let timer: ClockTimer | undefined;
    const lastWrites: Runnable = {
      name: 'last writes',
      run: async (stop) => {
        await untilAborted(stop);
        timer = clock.timer(graceMs + lastWritesMs, () => persist.abort(new Shutdown('the last writes took too long')));
      },
    };
    const groups = [[apps, projects], [triggers], [...pools, lastWrites], [announce, ...watchers]];
    try {
      await runGroups(groups, signal, { clock, graceMs: graceMs + 5000 });
    } finally {
      timer?.cancel();
      for (const queue of queues) queue.shutDown();
      persist.abort(signal.reason);
    }
  }

  async ready(signal: AbortSignal): Promise<void> {
    await abortable(untilAborted(this.#started.signal), signal);
  }

  healthy(): { readonly ok: boolean; readonly reason?: string; readonly note?: string } {
    for (const pool of this.#parts.pools) {
      const reason = describeStall(pool.progress(), poolStalledMs);
      if (reason !== undefined) return { ok: false, reason: `${pool.name}: ${reason}` };
    }
    const note = this.#parts.loop.last();
    return { ok: true, ...defined({ note }) };
  }

  get report(): ControllerReport {
    return this.#parts.report;
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
      degraded: clusters.flatMap((cluster) => kindsWhere(isDegraded, cluster)),
      leftOut: clusters.flatMap((cluster) => kindsWhere(({ state }) => state === 'left-out', cluster)),
    };
  }

  #appSnapshot(app: Application): AppSnapshot {
    const key = appKeyOf(app);
    const memory = this.#parts.memories.peek(key);
    const deletion = memory?.deletionBlockedBy === undefined ? undefined : { ...memory.deletionBlockedBy, until: 0 };
    const waiting = deletion ?? memory?.waiting;
    return {
      key,
      project: projectOf(app),
      cluster: this.#parts.guard.clusterOf(app)?.server ?? '',
      ...statusFacts(app),
      ...(memory?.lastPass === undefined ? {} : { lastRefresh: refreshOf(memory.lastPass) }),
      ...defined({ waiting }),
      differences: memory?.differences ?? [],
    };
  }
}

function refreshOf({ at, reason, level }: PassRecord): NonNullable<AppSnapshot['lastRefresh']> {
  return { at, reason, level };
}

function isDegraded({ state, message }: KindState): boolean {
  return state === 'degraded' || (state === 'synced' && message !== undefined);
}

function kindsWhere(are: (kind: KindState) => boolean, { server, kinds }: ClusterInfo): readonly string[] {
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
