import { abortable, untilAborted, defined, newAbortController, runGroups, Shutdown } from '#base';
import type { ClockTimer, Runnable } from '#base';
import { describeStall } from '#queues';
import type { ControllerReport } from '../report/controller-report.ts';
import { lastWritesMs } from './parts.ts';
import type { ControllerParts } from './parts.ts';
import type { Controller, WatchDeps } from './types.ts';

export interface ArgoControllerDeps extends Pick<WatchDeps, 'clock'> {
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
}
